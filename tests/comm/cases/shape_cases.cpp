// Shapes that fit nothing: one hot expert, uneven experts, one rank, one node, one rail.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>

#include <gtest/gtest.h>

#include "comm/cases/bodies.hpp"
#include "comm/cases/step.hpp"

namespace cases {
namespace {

void add_y(Bits& bits, const Seen& seen) { bits.add(std::as_bytes(std::span(seen.y))); }

/// A few tokens on each rank with ids spread over all experts.
Step spread_step(int ranks, int experts, int top_k) {
  Step step;
  step.top_k = top_k;
  step.weights.assign(static_cast<std::size_t>(top_k), 0.25F);
  for (int p = 0; p < ranks; ++p) {
    step.idx.emplace_back();
    for (int i = 0; i < 6 * top_k; ++i) step.idx.back().push_back((7 * p + 3 * i) % experts);
  }
  return step;
}

/// The step on every path of a new group, in every type and layout.
void run_everywhere(Rank& rank, const Placement& placement, Step step,
                    const std::function<void(Path, const Seen&)>& look) {
  auto group = rank.make(placement, options_for(rank, 8, step.hidden, DType::FP32, step.top_k));
  ASSERT_TRUE(group) << to_string(group.error());
  Seen seen;
  on_all_variants(rank, [&](Path path, const Variant& variant, Bits& bits) {
    step.variant = variant;
    ASSERT_NO_FATAL_FAILURE(run_step(rank, *group, placement, step, path, seen));
    look(path, seen);
    add_y(bits, seen);
  });
}

void expect_no_rail_used(const Seen& seen) {
  EXPECT_EQ(sum_of(seen.dispatched.sent_bytes) + sum_of(seen.combined.sent_bytes), 0);
  EXPECT_TRUE(seen.dispatched.intervals.empty());
  EXPECT_EQ(seen.dispatched.max_fan_in, 0);
}

/// Bytes over the control network's device, which only emulated nodes have.
std::int64_t control_bytes() {
  std::int64_t total = 0;
  for (const char* direction : {"rx", "tx"}) {
    std::int64_t bytes = 0;
    std::ifstream(std::string("/sys/class/net/ctl0/statistics/") + direction + "_bytes") >> bytes;
    total += bytes;
  }
  return total;
}

int open_sockets() {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // the listing's own descriptor
    const auto target = std::filesystem::read_symlink(entry.path(), gone);
    if (!gone && target.string().starts_with("socket:")) ++count;
  }
  return count;
}

}  // namespace

/// D06: every token of four nodes to one expert.
void d06_one_expert(Rank& rank) {
  const auto placement = *Placement::contiguous(4, 4);
  Step step;
  step.hidden = 512;
  step.x = [](int r, int) { return static_cast<float>(r + 1); };
  step.idx.assign(4, std::vector<std::int64_t>(200, 2));
  auto group = rank.make(placement, options_for(rank, 200, 512, DType::FP32, 1));
  ASSERT_TRUE(group) << to_string(group.error());
  const int self = rank.self.value;
  const std::int64_t before = control_bytes();
  Seen seen;
  on_all_variants(rank, [&](Path path, const Variant& variant, Bits& bits) {
    step.variant = variant;
    ASSERT_NO_FATAL_FAILURE(run_step(rank, *group, placement, step, path, seen));
    EXPECT_EQ(seen.rows, self == 2 ? 800 : 0);
    if (variant.sent == DType::BF16) {
      EXPECT_EQ(sum_of(seen.dispatched.received_bytes), self == 2 ? 614'400 : 0);
    }
    EXPECT_EQ(sum_of(seen.dispatched.received_bytes), self == 2 ? 600 * row_bytes_of(step) : 0);
    EXPECT_EQ(sum_of(seen.dispatched.sent_bytes), self == 2 ? 0 : 200 * row_bytes_of(step));
    EXPECT_EQ(seen.y, std::vector<float>(200, 3.0F * static_cast<float>(self + 1)));
    if (railwave::balances(path) && self != 2) {
      EXPECT_EQ(seen.dispatched.sent_records, (std::vector<std::int64_t>{100, 100}));
    }
    if (railwave::uses_waves(path)) {
      EXPECT_EQ(seen.dispatched.max_fan_in, self == 2 ? 1 : 0);
      EXPECT_EQ(seen.dispatched.overlap_bytes, 0);
    }
    add_y(bits, seen);
  });
  // Rows travel on rails alone; 4 paths x 8 variants of 200 rows each way were there.
  EXPECT_LT(control_bytes() - before, 20'000);
}

/// D11 (a): 10 experts on 4 ranks are 3, 3, 2, 2.
void d11_uneven_experts(Rank& rank) {
  const auto placement = *Placement::contiguous(10, 4);
  const std::vector<std::size_t> owned{3, 3, 2, 2};
  run_everywhere(rank, placement, spread_step(4, 10, 3), [&](Path, const Seen& seen) {
    EXPECT_EQ(seen.per_expert.size(), owned[rank.self.index()]);
  });
}

/// D11 (b): more slots than experts, asked of the group and of a call.
void d11_top_k_beyond_experts(Rank& rank) {
  const auto placement = *Placement::contiguous(2, 2);
  const auto wide = rank.make(placement, options_for(rank, 4, 64, DType::FP32, 3));
  ASSERT_FALSE(wide);
  EXPECT_EQ(wide.error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(wide.error().rank, rank.self.value);
  EXPECT_NE(wide.error().message.find("top_k 3"), std::string::npos) << wide.error().message;
  EXPECT_NE(wide.error().message.find("num_experts 2"), std::string::npos);
  auto group = rank.make(placement, options_for(rank, 4, 64, DType::FP32, 2));
  ASSERT_TRUE(group) << to_string(group.error());
  const std::vector<float> x(64);
  const std::vector<std::int64_t> idx{0, 1, 0};
  railwave::DispatchArguments in;
  in.x = x.data();
  in.tokens = 1;
  in.hidden = 64;
  in.dtype = DType::FP32;
  in.top_k = 3;
  in.topk_idx = idx;
  const auto received = group->dispatch(in);
  ASSERT_FALSE(received);
  EXPECT_EQ(received.error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(received.error().field, "top_k");
}

/// D11 (c): 2 experts on 4 ranks; two ranks only send.
void d11_fewer_experts_than_ranks(Rank& rank) {
  const auto placement = *Placement::contiguous(2, 4);
  run_everywhere(rank, placement, spread_step(4, 2, 2),
                 [&](Path, const Seen& seen) { EXPECT_EQ(seen.rows > 0, rank.self.value < 2); });
}

/// D12 (a): nobody to talk to.
void d12_one_rank(Rank& rank) {
  const int before = open_sockets();
  Step step;
  step.top_k = 2;
  step.weights = {0.5F, 0.5F};
  step.idx = {{0, 1, 2, 3, 3, 3}};
  run_everywhere(rank, *Placement::contiguous(4, 1), step, [&](Path, const Seen& seen) {
    EXPECT_EQ(seen.y, (std::vector<float>{1.5F, 7.0F, 12.0F}));
    expect_no_rail_used(seen);
    EXPECT_EQ(open_sockets(), before);
  });
}

/// D12 (b): four ranks that share memory use no rail.
void d12_one_node(Rank& rank) {
  run_everywhere(rank, *Placement::contiguous(8, 4), spread_step(4, 8, 2),
                 [](Path, const Seen& seen) { expect_no_rail_used(seen); });
}

/// D12 (c): two nodes and one rail.
void d12_one_rail(Rank& rank) {
  run_everywhere(rank, *Placement::contiguous(8, 4), spread_step(4, 8, 2),
                 [](Path, const Seen& seen) { EXPECT_EQ(seen.dispatched.sent_bytes.size(), 1U); });
}

/// A group in which everyone leaves together, some a little earlier, is gone at once.
void leave_at_once(Rank& rank) {
  const int ranks = rank.topology.ranks();
  const auto placement = *Placement::contiguous(ranks, ranks);
  const Step step = spread_step(ranks, ranks, 2);
  for (int repeat = 0; repeat < 10; ++repeat) {
    std::optional<Communicator> group;
    {
      auto made = rank.make(placement, options_for(rank, 8, step.hidden, DType::FP32, 2));
      ASSERT_TRUE(made) << to_string(made.error());
      group.emplace(std::move(*made));
    }
    Seen seen;
    ASSERT_NO_FATAL_FAILURE(run_step(rank, *group, placement, step, Path::Joint, seen));
    rank.doing("leaving");
    const auto begin = std::chrono::steady_clock::now();
    group.reset();
    ASSERT_LT(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(1500))
        << "rank " << rank.self.value;
  }
}

}  // namespace cases
