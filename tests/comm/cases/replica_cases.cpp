// Replicas: several physical experts are copies of one logical expert, routing names physical ones.
#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "comm/cases/bodies.hpp"
#include "comm/cases/rank.hpp"

namespace cases {
namespace {

using railwave::ExpertId;

constexpr int kTokens = 6;
constexpr int kHidden = 5;
constexpr int kTopK = 2;

/// Four ranks; logical expert 0, the hot one, has a copy on each rank, 1 and 2 have two.
Placement hot_everywhere(std::int32_t last_is_of = 2) {
  std::vector<RankId> owner;
  std::vector<ExpertId> logical;
  for (const int rank : {0, 1, 2, 3}) {
    owner.emplace_back(rank);
    logical.emplace_back(0);
    owner.emplace_back(rank);
    logical.emplace_back(rank == 3 ? last_is_of : rank % 2 + 1);
  }
  return *Placement::replicated(owner, logical, 4);
}

/// The router: logical expert 0 at the nearest copy, the others in turn.
std::int64_t choose(const Placement& placement, int rank, int token, ExpertId logical) {
  const auto copies = placement.replicas(logical);
  const auto near = std::find_if(copies.begin(), copies.end(), [&](ExpertId copy) {
    return placement.owner(copy).value == rank;
  });
  if (logical.value == 0) return near->value;
  return copies[static_cast<std::size_t>(rank + token) % copies.size()].value;
}

/// The second logical expert of a token; the first is expert 0.
ExpertId second_of(int rank, int token) { return ExpertId(1 + (rank + token) % 2); }

float row_value(int rank, int token) { return static_cast<float>(10 * rank + token + 1); }

/// A copy computes what its logical expert does: (logical + 2) times the row. Summed over the
/// slots of a row that are this rank's, as a framework without weights does.
void compute(const Placement& placement, RankId self, const railwave::Received& received) {
  auto* rows = reinterpret_cast<float*>(received.x);
  for (std::int64_t row = 0; row < received.rows; ++row) {
    float factor = 0;
    for (int k = 0; k < kTopK; ++k) {
      const std::int64_t local = received.topk_idx[static_cast<std::size_t>(row * kTopK + k)];
      if (local < 0) continue;
      const ExpertId expert = placement.owned(self)[static_cast<std::size_t>(local)];
      factor += static_cast<float>(placement.logical(expert).value + 2);
    }
    std::for_each(rows + row * kHidden, rows + (row + 1) * kHidden, [&](float& x) { x *= factor; });
  }
}

}  // namespace

void replicas(Rank& rank) {
  const Placement placement = hot_everywhere();
  const int self = rank.self.value;
  auto group = rank.make(placement, options_for(rank, kTokens, kHidden, DType::FP32, kTopK));
  ASSERT_TRUE(group) << to_string(group.error());
  std::vector<float> x;
  std::vector<std::int64_t> idx;
  for (int token = 0; token < kTokens; ++token) {
    x.insert(x.end(), kHidden, row_value(self, token));
    idx.push_back(choose(placement, self, token, ExpertId(0)));
    idx.push_back(choose(placement, self, token, second_of(self, token)));
  }
  on_all_paths(rank, [&](Path path, Bits& bits) {
    railwave::DispatchArguments in;
    in.x = x.data();
    in.tokens = kTokens;
    in.hidden = kHidden;
    in.dtype = DType::FP32;
    in.top_k = kTopK;
    in.topk_idx = idx;
    in.path = path;
    auto received = group->dispatch(in);
    ASSERT_TRUE(received) << to_string(received.error());
    EXPECT_EQ(received->tokens_per_expert[0], kTokens) << "the hot expert's load stays at home";
    compute(placement, rank.self, *received);
    std::vector<float> out(x.size());
    railwave::CombineArguments back;
    back.handle = received->handle;
    back.x = received->x;
    back.rows = received->rows;
    back.hidden = kHidden;
    back.dtype = DType::FP32;
    back.out = std::as_writable_bytes(std::span(out));
    const auto combined = group->combine(back);
    ASSERT_TRUE(combined) << to_string(combined.error());
    for (int token = 0; token < kTokens; ++token) {
      const float factor = static_cast<float>(2 + second_of(self, token).value + 2);
      EXPECT_EQ(out[static_cast<std::size_t>(token * kHidden)], factor * row_value(self, token));
    }
    bits.add(std::as_bytes(std::span(out)));
  });
}

/// Rank 2 takes the last expert for a copy of another one.
void replicas_differ(Rank& rank) {
  const auto group = rank.make(hot_everywhere(rank.self.value == 2 ? 1 : 2),
                               options_for(rank, kTokens, kHidden, DType::FP32, kTopK));
  ASSERT_FALSE(group);
  EXPECT_EQ(group.error().code, ErrorCode::Mismatch);
  EXPECT_EQ(group.error().field, "placement");
  EXPECT_EQ(group.error().rank, 2);
}

}  // namespace cases
