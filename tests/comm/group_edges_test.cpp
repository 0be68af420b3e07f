// Arguments and settings at the edge of what their integers hold, and a bias that comes alone.
#include <bit>
#include <cstring>
#include <limits>

#include <gtest/gtest.h>

#include "group/thread_world.hpp"

namespace {

using railwave::Communicator;
using railwave::CommunicatorOptions;
using railwave::DispatchArguments;
using railwave::DType;
using railwave::ErrorCode;
using railwave::Placement;
using railwave::RankId;
using railwave::Topology;

CommunicatorOptions small(RankId self) {
  CommunicatorOptions options;
  options.self = self;
  options.max_tokens_per_rank = 4;
  options.max_recv_rows = 16;
  options.max_hidden = 8;
  options.widest_dtype = DType::FP32;
  return options;
}

/// One rank, one expert.
void run_alone(const CommunicatorOptions& options, const world::Body& body) {
  world::run(
      *Topology::uniform(1, 1, 1), [](RankId) { return *Placement::contiguous(1, 1); },
      [&](RankId) { return options; }, body);
}

TEST(GroupEdges, RowsOfAnyLengthAreMeasuredWithoutOverflow) {
  run_alone(small(RankId(0)), [](RankId, auto& group) {
    ASSERT_TRUE(group) << to_string(group.error());
    const std::vector<float> x(8, 1.0F);
    const std::vector<std::int64_t> idx{0};
    DispatchArguments in;
    in.x = x.data();
    in.tokens = 1;
    in.dtype = DType::FP32;
    in.top_k = 1;
    in.topk_idx = idx;
    for (const std::int64_t hidden :
         {std::numeric_limits<std::int64_t>::max(), std::int64_t{1} << 62, std::int64_t{9},
          std::int64_t{0}, std::numeric_limits<std::int64_t>::min()}) {
      in.hidden = hidden;
      const auto received = group->dispatch(in);
      ASSERT_FALSE(received);
      EXPECT_EQ(received.error().code, ErrorCode::InvalidArgument);
      EXPECT_EQ(received.error().field, "hidden");
    }
    in.hidden = 8;
    EXPECT_TRUE(group->dispatch(in)) << "the group is as good as before";
  });
}

TEST(GroupEdges, MemoryBeyondReasonIsRefusedBeforeAnythingIsReserved) {
  const auto expect_refused = [](CommunicatorOptions options) {
    run_alone(options, [](RankId, auto& group) {
      ASSERT_FALSE(group);
      EXPECT_EQ(group.error().code, ErrorCode::InvalidArgument);
      EXPECT_EQ(group.error().field, "max_recv_rows");
    });
    const auto size = railwave::workspace_size(*Topology::uniform(1, 1, 1), options);
    ASSERT_FALSE(size);
    EXPECT_EQ(size.error().field, "max_recv_rows");
  };
  CommunicatorOptions options = small(RankId(0));
  options.max_recv_rows = std::int64_t{1} << 31;
  options.max_hidden = std::int64_t{1} << 29;
  expect_refused(options);
  options = small(RankId(0));
  options.max_tokens_per_rank = std::int64_t{1} << 31;
  options.max_hidden = 1 << 20;
  expect_refused(options);
}

TEST(GroupEdges, OutputsThatOverlapTheInputAreRefused) {
  run_alone(small(RankId(0)), [](RankId, auto& group) {
    ASSERT_TRUE(group) << to_string(group.error());
    std::vector<float> buffer(24, 1.0F);
    const auto bytes = std::as_writable_bytes(std::span(buffer));
    const std::vector<std::int64_t> idx{0};
    DispatchArguments in;
    in.x = buffer.data() + 8;
    in.tokens = 1;
    in.hidden = 8;
    in.dtype = DType::FP32;
    in.top_k = 1;
    in.topk_idx = idx;
    for (const std::size_t at : {4U, 32U, 60U}) {
      in.recv_x = bytes.subspan(at, 32);
      const auto received = group->dispatch(in);
      ASSERT_FALSE(received) << at;
      EXPECT_EQ(received.error().code, ErrorCode::InvalidArgument);
      EXPECT_EQ(received.error().field, "recv_x");
    }
    in.recv_x = bytes.subspan(64, 32);
    const auto received = group->dispatch(in);
    ASSERT_TRUE(received) << to_string(received.error());
    railwave::CombineArguments combine;
    combine.handle = received->handle;
    combine.x = received->x;
    combine.rows = received->rows;
    combine.hidden = 8;
    combine.dtype = DType::FP32;
    combine.out = in.recv_x;
    const auto refused = group->combine(combine);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().field, "out");
    combine.out = bytes.subspan(0, 32);
    EXPECT_TRUE(group->combine(combine));
  });
}

TEST(GroupEdges, ABiasAloneStartsTheSumWhicheverItIs) {
  run_alone(small(RankId(0)), [](RankId, auto& group) {
    ASSERT_TRUE(group) << to_string(group.error());
    const std::vector<float> x(4, 1.0F);
    const std::vector<std::int64_t> idx{-1};
    DispatchArguments in;
    in.x = x.data();
    in.tokens = 1;
    in.hidden = 4;
    in.dtype = DType::FP32;
    in.top_k = 1;
    in.topk_idx = idx;
    const std::vector<float> bias{-0.0F, 0.0F, 3.0F, -1.0F};
    for (const int which : {0, 1}) {
      const auto received = group->dispatch(in);
      ASSERT_TRUE(received);
      std::vector<float> out(4, 9.0F);
      railwave::CombineArguments combine;
      combine.handle = received->handle;
      combine.hidden = 4;
      combine.dtype = DType::FP32;
      combine.out = std::as_writable_bytes(std::span(out));
      (which == 0 ? combine.bias0 : combine.bias1) = bias.data();
      ASSERT_TRUE(group->combine(combine));
      EXPECT_EQ(std::memcmp(out.data(), bias.data(), 16), 0) << "bias" << which;
    }
  });
}

TEST(GroupEdges, AnEarlierOutcomeGivesItsMemoryAndNothingElse) {
  run_alone(small(RankId(0)), [](RankId, auto& group) {
    ASSERT_TRUE(group) << to_string(group.error());
    const std::vector<float> x{1, 2, 3, 4, 5, 6, 7, 8};
    const std::vector<std::int64_t> idx{0, 0, 0, 0};
    DispatchArguments in;
    in.x = x.data();
    in.tokens = 4;
    in.hidden = 2;
    in.dtype = DType::FP32;
    in.top_k = 1;
    in.topk_idx = idx;
    auto first = group->dispatch(in);
    ASSERT_TRUE(first) << to_string(first.error());
    const std::byte* const memory = first->storage.data();
    const railwave::Handle handle = first->handle;

    in.tokens = 2;
    in.topk_idx = std::span(idx).first(2);
    in.layout = railwave::RowLayout::ExpertMajor;
    in.reuse = &*first;
    const auto second = group->dispatch(in);
    ASSERT_TRUE(second) << to_string(second.error());
    EXPECT_EQ(first->rows, 0);
    EXPECT_EQ(first->x, nullptr);
    EXPECT_FALSE(first->handle.valid());
    EXPECT_EQ(second->rows, 2);
    EXPECT_EQ(second->x, memory);
    EXPECT_EQ(std::memcmp(second->x, x.data(), 4 * sizeof(float)), 0);
    EXPECT_TRUE(second->topk_idx.empty());
    EXPECT_EQ(second->topk_weights, (std::vector<float>{1, 1}));
    EXPECT_EQ(second->tokens_per_expert, std::vector<std::int64_t>{2});
    EXPECT_EQ(second->unaligned_tokens_per_expert, std::vector<std::int64_t>{2});
    EXPECT_EQ(second->expert_offsets, (std::vector<std::int64_t>{0, 2}));
    EXPECT_EQ(second->report.sent_bytes, std::vector<std::int64_t>{0});
    EXPECT_EQ(handle.rows(), 4) << "a copy of the handle holds on to it";
  });
}

}  // namespace
