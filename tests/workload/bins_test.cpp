#include "workload/bins.hpp"

#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace railwave::workload {
namespace {

using ::testing::ElementsAre;

TEST(BinsTest, SortedBinsAreThePapersConstruction) {
  const std::vector<std::int64_t> counts{1, 8, 3, 6, 5, 4, 7, 2};
  EXPECT_THAT(bin_counts(counts, 4, BinOrder::Sorted), ElementsAre(15, 11, 7, 3));
  EXPECT_THAT(bin_counts(counts, 4, BinOrder::Natural), ElementsAre(9, 9, 9, 9));
}

TEST(BinsTest, TheFirstBinsHaveOneExpertMore) {
  const std::vector<std::int64_t> counts{1, 10, 100, 1000, 10000};
  EXPECT_THAT(bin_counts(counts, 3, BinOrder::Natural), ElementsAre(11, 1100, 10000));
  EXPECT_THAT(bin_counts(counts, 7, BinOrder::Sorted), ElementsAre(10000, 1000, 100, 10, 1, 0, 0));
}

TEST(ApportionTest, LargestRemainderTiesToTheLowerIndex) {
  EXPECT_THAT(apportion(10, std::vector<std::int64_t>{1, 1, 1, 1}), ElementsAre(3, 3, 2, 2));
  // Shares 0.5, 1.5, 3: both remainders are equal.
  EXPECT_THAT(apportion(5, std::vector<std::int64_t>{1, 3, 6}), ElementsAre(1, 1, 3));
  // Shares 6.93, 2.64, 1.43 of 11.
  EXPECT_THAT(apportion(11, std::vector<std::int64_t>{63, 24, 13}), ElementsAre(7, 3, 1));
  EXPECT_THAT(apportion(0, std::vector<std::int64_t>{0, 0}), ElementsAre(0, 0));
  EXPECT_THAT(apportion(INT64_MAX, std::vector<std::int64_t>{INT64_MAX, INT64_MAX}),
              ElementsAre(INT64_MAX / 2 + 1, INT64_MAX / 2));
}

RC_GTEST_PROP(ApportionTest, KeepsTheTotalAndEveryQuota, ()) {
  const auto weights = *rc::gen::suchThat(
      rc::gen::nonEmpty(
          rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 1000))),
      [](const auto& w) { return std::accumulate(w.begin(), w.end(), std::int64_t{0}) > 0; });
  const auto total = *rc::gen::inRange<std::int64_t>(0, 100000);
  const auto sum = std::accumulate(weights.begin(), weights.end(), std::int64_t{0});
  const auto parts = apportion(total, weights);
  RC_ASSERT(std::accumulate(parts.begin(), parts.end(), std::int64_t{0}) == total);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    RC_ASSERT(std::abs(parts[i] * sum - total * weights[i]) < sum);
  }
}

}  // namespace
}  // namespace railwave::workload
