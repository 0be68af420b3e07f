// Few tokens, none, masked ones, one expert twice, and what an earlier step must not leave behind.
#include <random>

#include <gtest/gtest.h>

#include "comm/cases/bodies.hpp"
#include "comm/cases/first_step.hpp"
#include "comm/cases/step.hpp"

namespace cases {

Step first_step() {
  Step step;
  step.top_k = 2;
  step.weights = {0.75F, 0.25F};
  step.idx = {{0, 5, 2, 3, 6, 1}, {}, {4, 7, 1, 0}, {2, 6}};
  return step;
}

void expect_first_step(const Rank& rank, const Seen& seen) {
  const std::size_t self = rank.self.index();
  const std::vector<std::vector<float>> y{{2.25F, 6.5F, 17.25F}, {}, {189.75F, 59.5F}, {196.0F}};
  const std::vector<std::vector<std::int64_t>> per_expert{{2, 2}, {2, 1}, {1, 1}, {2, 1}};
  if (seen.y_is_exact) {
    EXPECT_EQ(seen.y, y[self]);
  }
  EXPECT_EQ(seen.per_expert, per_expert[self]);
  EXPECT_EQ(seen.assignments, (std::vector<std::int64_t>{4, 3, 2, 3})[self]);
  EXPECT_EQ(seen.rows,
            seen.one_a_slot ? seen.assignments : (std::vector<std::int64_t>{3, 2, 2, 3})[self]);
}

namespace {

void add_y(Bits& bits, const Seen& seen) { bits.add(std::as_bytes(std::span(seen.y))); }

}  // namespace

/// D01: one rank without tokens, then all, then the first again, a hundred times.
void d01_zero_tokens(Rank& rank) {
  const auto placement = *Placement::contiguous(8, 4);
  auto group = rank.make(placement, options_for(rank, 4, 64, DType::FP32, 2));
  ASSERT_TRUE(group) << to_string(group.error());
  Step first = first_step();
  Step none = first;
  none.idx.assign(4, {});
  Seen seen;
  on_all_variants(rank, [&](Path path, const Variant& variant, Bits& bits) {
    first.variant = none.variant = variant;
    for (int repeat = 0; repeat < (variant.plain() ? 25 : 2); ++repeat) {
      ASSERT_NO_FATAL_FAILURE(run_step(rank, *group, placement, first, path, seen));
      expect_first_step(rank, seen);
      ASSERT_NO_FATAL_FAILURE(run_step(rank, *group, placement, none, path, seen));
      EXPECT_EQ(seen.rows, 0);
      EXPECT_EQ(seen.assignments, 0);
      EXPECT_EQ(sum_of(seen.dispatched.sent_bytes) + sum_of(seen.combined.sent_bytes), 0);
      EXPECT_EQ(sum_of(seen.dispatched.received_bytes), 0);
      ASSERT_NO_FATAL_FAILURE(run_step(rank, *group, placement, first, path, seen));
      expect_first_step(rank, seen);
    }
    add_y(bits, seen);
  });
}

/// D03: slots and a whole token without an expert.
void d03_masked_slots(Rank& rank) {
  const auto placement = *Placement::contiguous(4, 2);
  auto group = rank.make(placement, options_for(rank, 3, 64, DType::FP32, 2));
  ASSERT_TRUE(group) << to_string(group.error());
  Step step;
  step.top_k = 2;
  step.weights = {0.5F, 0.5F};
  step.idx = {{0, -1, -1, 3, -1, -1}, {2, 1}};
  Seen seen;
  on_all_variants(rank, [&](Path path, const Variant& variant, Bits& bits) {
    step.variant = variant;
    ASSERT_NO_FATAL_FAILURE(run_step(rank, *group, placement, step, path, seen));
    EXPECT_EQ(seen.y, rank.self.value == 0 ? (std::vector<float>{0.5F, 4.0F, 0.0F})
                                           : (std::vector<float>{42.5F}));
    EXPECT_EQ(seen.per_expert, (std::vector<std::int64_t>{1, 1}));
    EXPECT_EQ(seen.rows, 2);
    // Of rank 0's tokens only (0, 1) leaves the node.
    EXPECT_EQ(sum_of(seen.dispatched.sent_bytes),
              rank.topology.nodes() == 1 ? 0 : row_bytes_of(step));
    add_y(bits, seen);
  });
}

/// D05: both slots count, the row travels once.
void d05_expert_twice(Rank& rank) {
  const auto placement = *Placement::contiguous(4, 2);
  auto group = rank.make(placement, options_for(rank, 2, 64, DType::FP32, 2));
  ASSERT_TRUE(group) << to_string(group.error());
  Step step;
  step.top_k = 2;
  step.weights = {0.25F, 0.75F};
  step.idx = {{1, 1, 3, 0}, {2, 2}};
  Seen seen;
  on_all_variants(rank, [&](Path path, const Variant& variant, Bits& bits) {
    step.variant = variant;
    ASSERT_NO_FATAL_FAILURE(run_step(rank, *group, placement, step, path, seen));
    EXPECT_EQ(seen.y, rank.self.value == 0 ? (std::vector<float>{2.0F, 3.5F})
                                           : (std::vector<float>{51.0F}));
    EXPECT_EQ(seen.assignments, 3);
    EXPECT_EQ(seen.per_expert, rank.self.value == 0 ? (std::vector<std::int64_t>{1, 2})
                                                    : (std::vector<std::int64_t>{2, 1}));
    EXPECT_EQ(seen.rows, seen.one_a_slot ? 3 : 2);
    add_y(bits, seen);
  });
}

/// D18: nothing of a larger step is left for a smaller one.
void d18_smaller_after_larger(Rank& rank) {
  const auto placement = *Placement::contiguous(8, 2);
  auto group = rank.make(placement, options_for(rank, 4, 64, DType::FP32, 1));
  ASSERT_TRUE(group) << to_string(group.error());
  Step step;
  Seen seen;
  on_all_variants(rank, [&](Path path, const Variant& variant, Bits& bits) {
    step.variant = variant;
    step.idx = {{0, 3, 4, 7}, {1, 2, 5, 6}};
    ASSERT_NO_FATAL_FAILURE(run_step(rank, *group, placement, step, path, seen));
    EXPECT_EQ(seen.per_expert, (std::vector<std::int64_t>{1, 1, 1, 1}));
    add_y(bits, seen);
    step.idx = {{0}, {0}};
    ASSERT_NO_FATAL_FAILURE(run_step(rank, *group, placement, step, path, seen));
    EXPECT_EQ(seen.per_expert, rank.self.value == 0 ? (std::vector<std::int64_t>{2, 0, 0, 0})
                                                    : (std::vector<std::int64_t>{0, 0, 0, 0}));
    EXPECT_EQ(seen.rows, rank.self.value == 0 ? 2 : 0);
    add_y(bits, seen);
    std::mt19937_64 rng(18);
    for (std::size_t i = 0; i < (variant.plain() ? 125 : 10); ++i) {
      constexpr std::array<std::size_t, 5> kTokens{4, 1, 3, 0, 2};
      for (std::size_t p = 0; p < 2; ++p) {
        step.idx[p].clear();
        for (std::size_t t = 0; t < kTokens[(i + p) % 5]; ++t) {
          step.idx[p].push_back(static_cast<std::int64_t>(rng() % 8));
        }
      }
      ASSERT_NO_FATAL_FAILURE(run_step(rank, *group, placement, step, path, seen));
      add_y(bits, seen);
    }
  });
}

}  // namespace cases
