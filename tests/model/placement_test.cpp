// Which rank owns which expert.
#include <numeric>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <railwave/placement.hpp>

namespace railwave {
namespace {

std::vector<int> owners(const Placement& placement) {
  std::vector<int> out;
  for (int e = 0; e < placement.experts(); ++e) out.push_back(placement.owner(ExpertId(e)).value);
  return out;
}

/// Case D11(a): 10 experts on 4 ranks are 3, 3, 2, 2.
TEST(Placement, UnevenExperts) {
  const Placement placement = Placement::contiguous(10, 4).value();
  EXPECT_EQ(owners(placement), (std::vector<int>{0, 0, 0, 1, 1, 1, 2, 2, 3, 3}));
  EXPECT_EQ(placement.local_index(ExpertId(5)), 2);
  EXPECT_EQ(placement.local_index(ExpertId(6)), 0);
}

/// Case D11(c): with fewer experts than ranks the last ranks own none.
TEST(Placement, FewerExpertsThanRanks) {
  const Placement placement = Placement::contiguous(2, 4).value();
  EXPECT_EQ(owners(placement), (std::vector<int>{0, 1}));
  EXPECT_EQ(placement.ranks(), 4);
  EXPECT_TRUE(placement.owned(RankId(2)).empty());
  EXPECT_TRUE(placement.owned(RankId(3)).empty());
}

TEST(Placement, AnyMap) {
  const Placement placement =
      Placement::from_owners({RankId(2), RankId(0), RankId(2), RankId(0)}, 3).value();
  const auto of_two = placement.owned(RankId(2));
  EXPECT_EQ(std::vector<ExpertId>(of_two.begin(), of_two.end()),
            (std::vector<ExpertId>{ExpertId(0), ExpertId(2)}));
  EXPECT_EQ(placement.local_index(ExpertId(3)), 1);
  EXPECT_TRUE(placement.owned(RankId(1)).empty());
}

TEST(Placement, Rejected) {
  EXPECT_EQ(Placement::contiguous(0, 4).error().field, "num_experts");
  EXPECT_EQ(Placement::contiguous(-1, 4).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(Placement::contiguous(4, 0).error().field, "num_ranks");
  EXPECT_EQ(Placement::from_owners({}, 2).error().field, "num_experts");
  EXPECT_EQ(Placement::from_owners({RankId(0)}, 0).error().field, "num_ranks");
  EXPECT_EQ(Placement::from_owners({RankId(0), RankId(2)}, 2).error().field, "owner");
  EXPECT_EQ(Placement::from_owners({RankId(-1)}, 2).error().field, "owner");
}

RC_GTEST_PROP(PlacementProperty, ContiguousIsEvenAndComplete, ()) {
  const int experts = *rc::gen::inRange(1, 300);
  const int ranks = *rc::gen::inRange(1, 70);
  const Placement placement = Placement::contiguous(experts, ranks).value();
  int next = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto owned = placement.owned(RankId(rank));
    RC_ASSERT(static_cast<int>(owned.size()) == experts / ranks + (rank < experts % ranks));
    for (std::size_t i = 0; i < owned.size(); ++i) {
      RC_ASSERT(owned[i] == ExpertId(next++));
      RC_ASSERT(placement.owner(owned[i]) == RankId(rank));
      RC_ASSERT(placement.local_index(owned[i]) == static_cast<int>(i));
    }
  }
  RC_ASSERT(next == experts);
}

TEST(Placement, FingerprintTellsMapsApart) {
  const auto even = Placement::contiguous(8, 4)->fingerprint();
  EXPECT_EQ(even, Placement::contiguous(8, 4)->fingerprint());
  EXPECT_NE(even, Placement::contiguous(8, 5)->fingerprint());
  EXPECT_NE(even, Placement::contiguous(9, 4)->fingerprint());
  const std::vector<RankId> last_rank_idle{RankId(0), RankId(1)};
  EXPECT_NE(Placement::from_owners(last_rank_idle, 2)->fingerprint(),
            Placement::from_owners(last_rank_idle, 3)->fingerprint());
  EXPECT_NE(Placement::from_owners({RankId(0), RankId(1)}, 2)->fingerprint(),
            Placement::from_owners({RankId(1), RankId(0)}, 2)->fingerprint());
}

}  // namespace
}  // namespace railwave
