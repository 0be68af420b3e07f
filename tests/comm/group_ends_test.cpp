// How a group ends when a step breaks off: once for all, in time, and with what its rails hold.
#include <functional>
#include <latch>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "base/fail.hpp"
#include "group/detour_rail.hpp"
#include "group/thread_world.hpp"

namespace {

using railwave::CommunicatorOptions;
using railwave::DispatchArguments;
using railwave::DType;
using railwave::ErrorCode;
using railwave::Placement;
using railwave::RankId;
using railwave::Status;
using railwave::Topology;
using railwave::transport::FrameKind;
using railwave::transport::Rail;
using std::chrono::milliseconds;
using world::DetourRail;

/// Keeps what it is given and looks at it when the rail is closed, as UCX does.
class Holder {
 public:
  ~Holder() {
    for (const Held& held : held_) {
      EXPECT_TRUE(std::equal(held.payload.begin(), held.payload.end(), held.then.begin()));
    }
  }
  Status hold(std::span<const std::byte> payload) {
    held_.push_back({payload, {payload.begin(), payload.end()}});
    return {};
  }

 private:
  struct Held {
    std::span<const std::byte> payload;
    std::vector<std::byte> then;
  };
  std::vector<Held> held_;
};

CommunicatorOptions settings(RankId self) {
  CommunicatorOptions options;
  options.self = self;
  options.max_tokens_per_rank = 4;
  options.max_recv_rows = 16;
  options.max_hidden = 8;
  options.widest_dtype = DType::FP32;
  options.deadlines = {milliseconds(400), milliseconds(400), milliseconds(400)};
  return options;
}

/// Every rank's token goes to the other node.
railwave::Result<railwave::Received> dispatch(railwave::Communicator& group, RankId self) {
  const std::vector<float> x(8, 1.0F);
  const std::vector<std::int64_t> idx{1 - self.value};
  DispatchArguments in;
  in.x = x.data();
  in.tokens = 1;
  in.hidden = 8;
  in.dtype = DType::FP32;
  in.top_k = 1;
  in.topk_idx = idx;
  return group.dispatch(in);
}

/// Two nodes of one rank whose rails are what `wrap` makes.
void run_two(const std::function<std::unique_ptr<Rail>(std::unique_ptr<Rail>)>& wrap,
             const world::Body& body) {
  world::Options options;
  options.wrap = wrap;
  world::run(
      *Topology::uniform(2, 1, 1), [](RankId) { return *Placement::contiguous(2, 2); }, settings,
      body, options);
}

/// The step fails with `code`, and so does at once every call after it.
void expect_ended(railwave::Communicator& group, RankId self, ErrorCode code) {
  const auto first = dispatch(group, self);
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().code, code) << to_string(first.error());
  const auto begin = railwave::Clock::now();
  const auto again = dispatch(group, self);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().message, first.error().message);
  EXPECT_LT(railwave::Clock::now() - begin, milliseconds(200));
}

TEST(GroupEnds, WhatARailHoldsOutlivesTheRail) {
  for (const FrameKind kind : {FrameKind::Records, FrameKind::Header}) {
    std::latch both(2);
    run_two(
        [&](std::unique_ptr<Rail> rail) {
          const auto holder = std::make_shared<Holder>();  // goes with the rail
          return std::make_unique<DetourRail>(
              std::move(rail), kind, [holder](auto payload) { return holder->hold(payload); });
        },
        [&](RankId self, auto& group) {
          if (group) expect_ended(*group, self, ErrorCode::Timeout);
          both.arrive_and_wait();  // who goes first would be the other's failure
          ASSERT_TRUE(group) << to_string(group.error());
          // Closes the rail, with a frame that is still held.
          group = tl::unexpected(railwave::Error{});
        });
  }
}

TEST(GroupEnds, AnErrorOfAnyCodeInTheMiddleOfAStep) {
  std::latch both(2);
  run_two(
      [](std::unique_ptr<Rail> rail) {
        return std::make_unique<DetourRail>(std::move(rail), FrameKind::Records, [](auto) {
          return railwave::fail(ErrorCode::InvalidArgument, "peer", "not connected");
        });
      },
      [&](RankId self, auto& group) {
        if (group) expect_ended(*group, self, ErrorCode::Internal);
        both.arrive_and_wait();
        ASSERT_TRUE(group) << to_string(group.error());
      });
}

TEST(GroupEnds, WithoutFarewellWhereItNeverBegan) {
  const auto begin = railwave::Clock::now();
  run_two(
      [](std::unique_ptr<Rail> rail) {
        return std::make_unique<DetourRail>(std::move(rail), FrameKind::Hello,
                                            [](auto) { return Status{}; });
      },
      [](RankId self, auto& group) {
        ASSERT_FALSE(group);
        EXPECT_TRUE(ends_group(group.error().code)) << to_string(group.error());
        EXPECT_EQ(group.error().rank, 1 - self.value);
      });
  EXPECT_LT(railwave::Clock::now() - begin, milliseconds(1900)) << "a farewell waits 2 s";
}

}  // namespace
