// Records that no rank may send: whoever gets them says so and writes nothing out of bounds.
#include <cstring>
#include <limits>
#include <list>

#include <gtest/gtest.h>

#include "comm/cases/first_step.hpp"
#include "comm/cases/on_threads.hpp"
#include "exec/record.hpp"
#include "transport/rail.hpp"

namespace {

using cases::Rank;
using railwave::ErrorCode;
using railwave::RankId;
using railwave::Result;
using railwave::Status;
using railwave::transport::FrameHeader;
using railwave::transport::FrameKind;
using railwave::transport::Rail;
using railwave::transport::RailSink;

/// A word of a record's meta, and what stands there instead.
struct Corruption {
  const char* name;
  std::size_t offset;
  std::uint32_t value;
};

// Meta: source rank, token, then {expert, row, weight} for each slot.
constexpr std::uint32_t kHuge = std::numeric_limits<std::uint32_t>::max();
const std::vector<Corruption> kCorruptions{{"expert_beyond_all", 8, 8},
                                           {"expert_huge", 8, 0x7fffffff},
                                           {"expert_negative", 8, static_cast<std::uint32_t>(-2)},
                                           {"source_beyond_all", 0, 4},
                                           {"source_huge", 0, kHuge},
                                           {"source_of_another_node", 0, 3},
                                           {"row_beyond_all", 12, 4},
                                           {"row_huge", 12, kHuge}};

/// Changes the first record of every frame of records.
class CorruptRail : public Rail {
 public:
  CorruptRail(std::unique_ptr<Rail> rail, const Corruption& corruption)
      : rail_(std::move(rail)), corruption_(corruption) {}
  [[nodiscard]] std::vector<std::byte> address() const override { return rail_->address(); }
  void set_sink(RailSink* sink) override { rail_->set_sink(sink); }
  Status connect(RankId peer, std::span<const std::byte> address) override {
    return rail_->connect(peer, address);
  }
  Status send(RankId peer, const FrameHeader& frame, std::span<const std::byte> payload,
              std::uint64_t token) override {
    if (frame.kind != FrameKind::Records) return rail_->send(peer, frame, payload, token);
    sent_.emplace_back(payload.begin(), payload.end());
    std::memcpy(sent_.back().data() + corruption_.offset, &corruption_.value, 4);
    return rail_->send(peer, frame, sent_.back(), token);
  }
  Status progress() override { return rail_->progress(); }
  [[nodiscard]] int wait_fd() const override { return rail_->wait_fd(); }
  bool arm() override { return rail_->arm(); }
  [[nodiscard]] std::uint64_t refused() const override { return rail_->refused(); }

 private:
  std::unique_ptr<Rail> rail_;
  Corruption corruption_;
  std::list<std::vector<std::byte>> sent_;
};

/// Ranks 0 and 1 are node 0; only what leaves it is corrupt. A rank that finds it ends its group,
/// which the others hear.
void dispatch_corrupt(Rank& rank) {
  const auto placement = *railwave::Placement::contiguous(8, 4);
  auto options = cases::options_for(rank, 4, 64, railwave::DType::FP32, 2);
  options.deadlines.first_operation = std::chrono::seconds(2);
  auto group = rank.make(placement, options);
  ASSERT_TRUE(group) << to_string(group.error());
  cases::Step step = cases::first_step();
  step.idx = {{4, 6, 7, 5}, {6, 4}, {0, 2}, {3, 1}};
  const std::size_t self = rank.self.index();
  const std::vector<float> x(step.idx[self].size() / 2 * 64, 1.0F);
  railwave::DispatchArguments in;
  in.x = x.data();
  in.tokens = static_cast<std::int64_t>(step.idx[self].size() / 2);
  in.hidden = 64;
  in.dtype = railwave::DType::FP32;
  in.top_k = 2;
  in.topk_idx = step.idx[self];
  const auto received = group->dispatch(in);
  if (self < 2) {  // hears of the end of the group at the latest in the next step
    EXPECT_FALSE(group->dispatch(in));
    return;
  }
  ASSERT_FALSE(received) << "rank " << self;
  if (received.error().code == ErrorCode::PeerFailed) return;
  EXPECT_EQ(received.error().code, ErrorCode::ProtocolViolation) << to_string(received.error());
  EXPECT_EQ(received.error().rank, static_cast<int>(self) - 2) << to_string(received.error());
  rank.bits = 1;
}

class CorruptRecords : public testing::TestWithParam<Corruption> {};

TEST_P(CorruptRecords, EndTheGroupWithAnErrorThatNamesTheSender) {
  const cases::Case one{"corrupt", {{{2, 2}, 2}}, dispatch_corrupt};
  cases::Run run;
  run.wrap = [](RankId self, std::unique_ptr<Rail> rail) -> std::unique_ptr<Rail> {
    if (self.value >= 2) return rail;
    return std::make_unique<CorruptRail>(std::move(rail), GetParam());
  };
  const auto found = cases::run_on_threads(one, one.shapes.front().topology(), run);
  EXPECT_GE(found[2] + found[3], 1U);
}

INSTANTIATE_TEST_SUITE_P(Metas, CorruptRecords, testing::ValuesIn(kCorruptions),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
