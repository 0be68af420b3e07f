// Rows in place of a call that fails: nobody succeeds with what their owner writes there next.
#include <algorithm>
#include <atomic>
#include <latch>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "group/detour_rail.hpp"
#include "group/thread_world.hpp"

namespace {

using railwave::CommunicatorOptions;
using railwave::DispatchArguments;
using railwave::DType;
using railwave::ErrorCode;
using railwave::Path;
using railwave::Placement;
using railwave::RankId;
using railwave::Topology;
using railwave::transport::FrameKind;
using railwave::transport::Rail;
using std::chrono::milliseconds;

constexpr int kHidden = 8;
constexpr int kOwner = 0;   // has its rows in place, and little time
constexpr int kReader = 1;  // of its node; reads them late

CommunicatorOptions settings(RankId self) {
  CommunicatorOptions options;
  options.self = self;
  options.max_tokens_per_rank = 4;
  options.max_recv_rows = 16;
  options.max_hidden = kHidden;
  options.widest_dtype = DType::FP32;
  options.chunk_bytes = 64;  // a record a frame
  options.shared_bytes = 4096;
  const milliseconds operation(self.value == kOwner ? 300 : 3000);
  options.deadlines.operation = options.deadlines.first_operation = operation;
  return options;
}

/// The reader stops in the middle of its dispatch, before its first frame of records leaves, until
/// the owner has failed and written its rows anew.
class RevokedRows : public testing::Test {
 protected:
  using Outcomes = std::vector<railwave::Result<railwave::Received>>;

  /// Dispatches with expert p on rank p: `experts` [P] are those of each rank's four tokens.
  Outcomes dispatch(const std::vector<std::vector<std::int64_t>>& experts, Path path) {
    Outcomes outcomes(4);
    world::Options options;
    options.wrap = [this](std::unique_ptr<Rail> rail) {
      return std::make_unique<world::DetourRail>(std::move(rail), FrameKind::Records,
                                                 [this](auto) { return hold(); });
    };
    world::run(
        *Topology::uniform(2, 2, 2), [](RankId) { return *Placement::contiguous(4, 4); }, settings,
        [&](RankId self, auto& group) {
          ASSERT_TRUE(group) << to_string(group.error());
          auto shared = group->allocate(4 * kHidden * sizeof(float));
          ASSERT_TRUE(shared);
          rank_ = self.value;
          outcomes[self.index()] = dispatch_one(*group, *shared, experts[self.index()], path);
          all_.arrive_and_wait();  // who goes first would be another's failure
        },
        options);
    return outcomes;
  }

 private:
  static railwave::Result<railwave::Received> dispatch_of(railwave::Communicator& group,
                                                          const railwave::SharedBuffer& rows,
                                                          const std::vector<std::int64_t>& experts,
                                                          Path path) {
    DispatchArguments in;
    in.x = rows.data();
    in.tokens = static_cast<std::int64_t>(experts.size());
    in.hidden = kHidden;
    in.dtype = DType::FP32;
    in.top_k = 1;
    in.topk_idx = experts;
    in.path = path;
    return group.dispatch(in);
  }
  railwave::Result<railwave::Received> dispatch_one(railwave::Communicator& group,
                                                    const railwave::SharedBuffer& rows,
                                                    const std::vector<std::int64_t>& experts,
                                                    Path path) {
    auto* first = reinterpret_cast<float*>(rows.data());
    std::fill_n(first, 4 * kHidden, 1.0F);
    auto outcome = dispatch_of(group, rows, experts, path);
    if (rank_ == kOwner) {
      held_.wait(false);
      std::fill_n(first, 4 * kHidden, 99.0F);
      rewritten_.count_down();
    }
    return outcome;
  }
  std::optional<railwave::Status> hold() {
    if (rank_ != kReader) return std::nullopt;
    held_ = true;
    held_.notify_all();
    rewritten_.wait();
    return std::nullopt;
  }

  static thread_local int rank_;
  std::atomic<bool> held_ = false;
  std::latch rewritten_{1};
  std::latch all_{4};
};
thread_local int RevokedRows::rank_ = -1;

/// Those of the owner, who waited for the reader, and of the reader.
void expect_failed(const railwave::Result<railwave::Received>& owner,
                   const railwave::Result<railwave::Received>& reader) {
  ASSERT_FALSE(owner);
  EXPECT_EQ(owner.error().code, ErrorCode::Timeout) << to_string(owner.error());
  EXPECT_EQ(owner.error().rank, kReader) << to_string(owner.error());
  ASSERT_FALSE(reader) << "its rows: " << *reinterpret_cast<const float*>(reader->x);
  EXPECT_EQ(reader.error().code, ErrorCode::PeerFailed) << to_string(reader.error());
  EXPECT_EQ(reader.error().rank, kOwner) << to_string(reader.error());
  EXPECT_EQ(reader.error().field, "rows");
}

TEST_F(RevokedRows, AreNotReceived) {
  const auto outcomes = dispatch({{1, 1, 1, 1}, {2}, {}, {}}, Path::Native);
  expect_failed(outcomes[kOwner], outcomes[kReader]);
  ASSERT_TRUE(outcomes[2]) << "it has the reader's row: " << to_string(outcomes[2].error());
  EXPECT_EQ(outcomes[2]->rows, 1);
}

TEST_F(RevokedRows, AreNotSent) {
  // The balanced path brings two of the owner's four rows to the reader's rail.
  const auto outcomes = dispatch({{2, 2, 2, 2}, {}, {}, {}}, Path::Joint);
  expect_failed(outcomes[kOwner], outcomes[kReader]);
  ASSERT_FALSE(outcomes[2]) << "its last row: "
                            << reinterpret_cast<const float*>(outcomes[2]->x)[3 * kHidden];
}

}  // namespace
