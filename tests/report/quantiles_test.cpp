#include "report/quantiles.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace railwave::report {
namespace {

std::vector<double> one_to(int n) {
  std::vector<double> out(static_cast<std::size_t>(n));
  std::iota(out.rbegin(), out.rend(), 1.0);
  return out;
}

TEST(QuantilesTest, NearestRankByTheDefinition) {
  EXPECT_EQ(nearest_rank(one_to(100), 50), 50);
  EXPECT_EQ(nearest_rank(one_to(100), 95), 95);
  EXPECT_EQ(nearest_rank(one_to(100), 99), 99);
  EXPECT_EQ(nearest_rank(one_to(20), 95), 19);
  EXPECT_EQ(nearest_rank(one_to(5), 50), 3);
  EXPECT_EQ(nearest_rank(one_to(4), 50), 2);
  EXPECT_EQ(nearest_rank(one_to(1), 50), 1);
}

TEST(QuantilesTest, AbsentBelowTheNumberOfSamplesThatTheyNeed) {
  EXPECT_EQ(nearest_rank({}, 50), std::nullopt);
  EXPECT_EQ(nearest_rank(one_to(19), 95), std::nullopt);
  EXPECT_EQ(nearest_rank(one_to(99), 99), std::nullopt);
  EXPECT_TRUE(nearest_rank(one_to(20), 95));
  EXPECT_TRUE(nearest_rank(one_to(100), 99));
}

TEST(QuantilesTest, SumsEachLayersQuantile) {
  // The quantile of the sums of samples would be 6, the sum of the quantiles is 2 + 3.
  const std::vector<std::vector<double>> layers{{1, 2, 5}, {5, 3, 1}};
  const auto sum = sum_of_quantiles(layers);
  EXPECT_EQ(sum.p50, 5);
  EXPECT_EQ(sum.p95, std::nullopt);
}

TEST(QuantilesTest, OneLayerWithTooFewSamplesMakesTheSumAbsent) {
  const std::vector<std::vector<double>> layers{one_to(100), one_to(20)};
  EXPECT_EQ(sum_of_quantiles(layers).p95, 95 + 19);
  EXPECT_EQ(sum_of_quantiles(layers).p99, std::nullopt);
  EXPECT_EQ(sum_of_quantiles({}).p50, std::nullopt);
}

RC_GTEST_PROP(QuantilesTest, IsTheLeastSampleThatCoversThePercentage, ()) {
  const auto ints =
      *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 50)));
  const int percent = *rc::gen::inRange(1, 51);
  const std::vector<double> samples(ints.begin(), ints.end());
  const double quantile = *nearest_rank(samples, percent);
  const auto covered = [&](auto below) {
    return 100 * std::ranges::count_if(samples, below) >= percent * std::ssize(samples);
  };
  RC_ASSERT(covered([&](double x) { return x <= quantile; }));
  RC_ASSERT(!covered([&](double x) { return x < quantile; }));
}

}  // namespace
}  // namespace railwave::report
