// DeepEP's layout, on cases with known answers and against counting by sets.
#include <memory_resource>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "model/routing.hpp"

namespace railwave {
namespace {

using Counts = std::pmr::vector<std::int64_t>;

struct Group {
  Topology topology;
  Placement placement;
  [[nodiscard]] Layout layout(const Counts& ids, int top_k) const {
    return Layout::of({static_cast<std::int64_t>(ids.size()) / top_k, top_k, ids}, placement,
                      topology);
  }
};

Group group(int nodes, int ranks_per_node, int experts) {
  return {Topology::uniform(nodes, ranks_per_node, 1).value(),
          Placement::contiguous(experts, nodes * ranks_per_node).value()};
}

Counts sum(Counts a, const Counts& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

/// Case D01: four ranks, 8 experts; rank 1 has no tokens.
TEST(Layout, ZeroTokensOnOneRank) {
  const Group four = group(4, 1, 8);
  const Layout rank0 = four.layout({0, 5, 2, 3, 6, 1}, 2);
  const Layout rank1 = four.layout({}, 2);
  const Layout rank2 = four.layout({4, 7, 1, 0}, 2);
  const Layout rank3 = four.layout({2, 6}, 2);
  EXPECT_EQ(rank0.tokens_per_rank, (Counts{2, 1, 1, 1}));
  EXPECT_EQ(rank1.tokens_per_rank, (Counts{0, 0, 0, 0}));
  EXPECT_EQ(rank2.tokens_per_rank, (Counts{1, 0, 1, 1}));
  EXPECT_EQ(rank3.tokens_per_rank, (Counts{0, 1, 0, 1}));
  EXPECT_TRUE(rank1.token_in_rank.empty());
  const Counts experts = sum(sum(rank0.tokens_per_expert, rank1.tokens_per_expert),
                             sum(rank2.tokens_per_expert, rank3.tokens_per_expert));
  EXPECT_EQ(experts, (Counts{2, 2, 2, 1, 1, 1, 2, 1}));
  EXPECT_EQ(sum(sum(rank0.tokens_per_rank, rank2.tokens_per_rank), rank3.tokens_per_rank),
            (Counts{3, 2, 2, 3}));
}

/// Case D03: slots without an expert move nothing.
TEST(Layout, MaskedSlots) {
  const Layout layout = group(2, 1, 4).layout({0, -1, -1, 3, -1, -1}, 2);
  EXPECT_EQ(layout.tokens_per_expert, (Counts{1, 0, 0, 1}));
  EXPECT_EQ(layout.tokens_per_rank, (Counts{1, 1}));
  EXPECT_EQ(layout.token_in_rank, (std::pmr::vector<std::uint8_t>{1, 0, 0, 1, 0, 0}));
}

/// Case D05: both slots count, the row travels once.
TEST(Layout, TheSameExpertTwice) {
  const Layout layout = group(2, 1, 4).layout({1, 1, 3, 0}, 2);
  EXPECT_EQ(layout.tokens_per_expert, (Counts{1, 2, 0, 1}));
  EXPECT_EQ(layout.tokens_per_rank, (Counts{2, 1}));
  EXPECT_EQ(layout.tokens_per_node, (Counts{2, 1}));
}

/// Case D11: uneven experts, and fewer experts than ranks.
TEST(Layout, UnevenExperts) {
  const Layout uneven = group(2, 2, 10).layout({2, 3, 5, 9, 6, 7}, 2);
  EXPECT_EQ(uneven.tokens_per_rank, (Counts{1, 2, 1, 1}));
  EXPECT_EQ(uneven.tokens_per_node, (Counts{2, 2}));
  const Layout few = group(4, 1, 2).layout({0, 1, 1, -1}, 2);
  EXPECT_EQ(few.tokens_per_rank, (Counts{1, 2, 0, 0}));
}

TEST(Layout, OneTokenWithManyExpertsOfANodeIsOneRecord) {
  const Layout layout = group(2, 4, 16).layout({8, 10, 12, 15}, 4);
  EXPECT_EQ(layout.tokens_per_node, (Counts{0, 1}));
  EXPECT_EQ(layout.tokens_per_rank, (Counts{0, 0, 0, 0, 1, 1, 1, 1}));
}

RC_GTEST_PROP(LayoutProperty, CountsDistinctTokens, ()) {
  const int nodes = *rc::gen::inRange(1, 5);
  const int ranks_per_node = *rc::gen::inRange(1, 5);
  const int ranks = nodes * ranks_per_node;
  const int experts = *rc::gen::inRange(1, 30);
  std::vector<RankId> owner;
  for (int e = 0; e < experts; ++e) owner.emplace_back(*rc::gen::inRange(0, ranks));
  const Group any{Topology::uniform(nodes, ranks_per_node, 2).value(),
                  Placement::from_owners(owner, ranks).value()};
  const int top_k = *rc::gen::inRange(1, experts + 1);
  const auto tokens = *rc::gen::inRange<std::size_t>(0, 20);
  const auto ids = *rc::gen::container<Counts>(tokens * static_cast<std::size_t>(top_k),
                                               rc::gen::inRange<std::int64_t>(-1, experts));
  std::set<std::pair<std::size_t, int>> to_rank;
  std::set<std::pair<std::size_t, int>> to_node;
  Counts per_expert(static_cast<std::size_t>(experts), 0);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] == -1) continue;
    const int rank = owner[static_cast<std::size_t>(ids[i])].value;
    to_rank.emplace(i / static_cast<std::size_t>(top_k), rank);
    to_node.emplace(i / static_cast<std::size_t>(top_k), rank / ranks_per_node);
    ++per_expert[static_cast<std::size_t>(ids[i])];
  }
  Counts per_rank(static_cast<std::size_t>(ranks), 0);
  Counts per_node(static_cast<std::size_t>(nodes), 0);
  std::pmr::vector<std::uint8_t> in_rank(tokens * static_cast<std::size_t>(ranks), 0);
  for (const auto& [token, rank] : to_rank) {
    ++per_rank[static_cast<std::size_t>(rank)];
    in_rank[token * static_cast<std::size_t>(ranks) + static_cast<std::size_t>(rank)] = 1;
  }
  for (const auto& pair : to_node) ++per_node[static_cast<std::size_t>(pair.second)];
  const Layout layout = any.layout(ids, top_k);
  RC_ASSERT(layout.tokens_per_rank == per_rank);
  RC_ASSERT(layout.tokens_per_node == per_node);
  RC_ASSERT(layout.tokens_per_expert == per_expert);
  RC_ASSERT(layout.token_in_rank == in_rank);
}

}  // namespace
}  // namespace railwave
