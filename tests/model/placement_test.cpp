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

TEST(Placement, WithoutReplicasEveryExpertIsItsOwn) {
  const Placement placement = Placement::contiguous(5, 2).value();
  EXPECT_EQ(placement.logical_experts(), 5);
  for (int e = 0; e < 5; ++e) {
    EXPECT_EQ(placement.logical(ExpertId(e)), ExpertId(e));
    ASSERT_EQ(placement.replicas(ExpertId(e)).size(), 1U);
    EXPECT_EQ(placement.replicas(ExpertId(e))[0], ExpertId(e));
  }
}

TEST(Placement, ReplicasAreCopiesOfOneLogicalExpert) {
  const std::vector<RankId> owner{RankId(0), RankId(1), RankId(1), RankId(0), RankId(2)};
  const std::vector<ExpertId> logical{ExpertId(1), ExpertId(0), ExpertId(1), ExpertId(2),
                                      ExpertId(1)};
  const Placement placement = Placement::replicated(owner, logical, 3).value();
  EXPECT_EQ(placement.experts(), 5);
  EXPECT_EQ(placement.logical_experts(), 3);
  EXPECT_EQ(placement.logical(ExpertId(4)), ExpertId(1));
  const auto copies = placement.replicas(ExpertId(1));
  EXPECT_EQ(std::vector<ExpertId>(copies.begin(), copies.end()),
            (std::vector<ExpertId>{ExpertId(0), ExpertId(2), ExpertId(4)}));
  EXPECT_EQ(placement.owner(ExpertId(2)), RankId(1)) << "ranks own physical experts";
  EXPECT_EQ(placement.local_index(ExpertId(3)), 1);
  EXPECT_NE(placement.fingerprint(), Placement::from_owners(owner, 3)->fingerprint());
}

TEST(Placement, RejectedReplicas) {
  const std::vector<RankId> owner{RankId(0), RankId(1), RankId(0)};
  const auto field_of = [&](const std::vector<std::int32_t>& values) {
    std::vector<ExpertId> logical;
    for (const std::int32_t value : values) logical.emplace_back(value);
    const auto placement = Placement::replicated(owner, logical, 2);
    return placement ? "" : placement.error().field;
  };
  EXPECT_EQ(field_of({0, 1, 0}), "");
  EXPECT_EQ(field_of({0, 1}), "logical") << "one is missing";
  EXPECT_EQ(field_of({0, -1, 0}), "logical");
  EXPECT_EQ(field_of({0, 3, 0}), "logical") << "more than there are experts";
  EXPECT_EQ(field_of({0, 2, 0}), "logical") << "nobody has logical expert 1";
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
