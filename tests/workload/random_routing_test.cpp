#include "workload/random_routing.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace railwave::workload {
namespace {

std::vector<std::int64_t> ids_of(int rank, std::uint64_t seed, std::int64_t tokens) {
  const auto made = random_routing(RankId(rank), {seed, tokens, 16, 4});
  EXPECT_TRUE(made);
  return made ? made->topk_idx : std::vector<std::int64_t>{};
}

TEST(RandomRouting, GivesEachTokenDifferentExperts) {
  for (const int top_k : {1, 5, 8}) {
    const auto made = random_routing(RankId(3), {7, 200, 8, top_k});
    ASSERT_TRUE(made);
    ASSERT_EQ(made->topk_idx.size(), 200U * static_cast<std::size_t>(top_k));
    for (auto first = made->topk_idx.begin(); first != made->topk_idx.end(); first += top_k) {
      const std::set<std::int64_t> token(first, first + top_k);
      EXPECT_EQ(token.size(), static_cast<std::size_t>(top_k));
      EXPECT_GE(*token.begin(), 0);
      EXPECT_LT(*token.rbegin(), 8);
    }
  }
}

TEST(RandomRouting, LoadsAllExpertsAlike) {
  std::vector<int> load(16, 0);
  for (const std::int64_t id : ids_of(0, 1, 8000)) ++load[static_cast<std::size_t>(id)];
  // 2,000 expected, standard deviation 39.
  for (const int one : load) EXPECT_NEAR(one, 2000, 200);
}

TEST(RandomRouting, DependsOnSeedAndRankAlone) {
  EXPECT_EQ(ids_of(2, 5, 50), ids_of(2, 5, 50));
  EXPECT_NE(ids_of(2, 5, 50), ids_of(3, 5, 50));
  EXPECT_NE(ids_of(2, 5, 50), ids_of(2, 6, 50));
  const auto few = ids_of(2, 5, 20);
  const auto many = ids_of(2, 5, 50);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
}

TEST(RandomRouting, NamesWhatIsWrong) {
  EXPECT_EQ(random_routing(RankId(0), {1, 4, 8, 9}).error().field, "top_k");
  EXPECT_EQ(random_routing(RankId(0), {1, 4, 8, 0}).error().field, "top_k");
  EXPECT_EQ(random_routing(RankId(0), {1, 4, 0, 1}).error().field, "experts");
  EXPECT_EQ(random_routing(RankId(0), {1, -1, 8, 1}).error().field, "tokens");
  EXPECT_TRUE(random_routing(RankId(0), {1, 0, 8, 1}));
}

}  // namespace
}  // namespace railwave::workload
