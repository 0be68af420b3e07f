// Unevenness and least squares on figures that can be done by hand.
#include "model/imbalance.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace railwave {
namespace {

using Loads = std::vector<std::int64_t>;
using Values = std::vector<double>;

TEST(Imbalance, LargestOverMeanAndSum) {
  EXPECT_DOUBLE_EQ(*max_over_mean(Loads{1, 2, 3, 6}), 2);
  EXPECT_DOUBLE_EQ(*largest_share(Loads{1, 2, 3, 6}), 0.5);
  EXPECT_DOUBLE_EQ(*max_over_mean(Loads{5}), 1);
  EXPECT_DOUBLE_EQ(*max_over_mean(Loads{0, 0, 7}), 3);
  EXPECT_FALSE(max_over_mean(Loads{}));
  EXPECT_FALSE(max_over_mean(Loads{0, 0}));
  EXPECT_FALSE(largest_share(Loads{0}));
}

TEST(Imbalance, SumsBeyond64Bits) {
  EXPECT_DOUBLE_EQ(*largest_share(Loads{INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX}), 0.25);
}

TEST(Imbalance, UpperQuantile) {
  const Values ten{9, 0, 8, 1, 7, 2, 6, 3, 5, 4};
  EXPECT_EQ(upper_quantile(ten, 0), 0);
  EXPECT_EQ(upper_quantile(ten, 10), 1);
  EXPECT_EQ(upper_quantile(ten, 50), 5);
  EXPECT_EQ(upper_quantile(ten, 90), 9);
  EXPECT_EQ(upper_quantile(ten, 99), 9);
  EXPECT_EQ(upper_quantile(Values{3}, 90), 3);
  EXPECT_FALSE(upper_quantile(Values{}, 50));
}

RC_GTEST_PROP(Imbalance, UpperQuantileIsTheLeastWithMoreAtOrBelow, (const Values& values)) {
  RC_PRE(!values.empty());
  const int percent = *rc::gen::inRange(0, 100);
  const double found = *upper_quantile(values, percent);
  const auto at_or_below = [&](double limit) {
    return std::ranges::count_if(values, [&](double v) { return v <= limit; });
  };
  const auto more = [&](double limit) {
    return 100 * at_or_below(limit) > percent * std::ssize(values);
  };
  RC_ASSERT(more(found));
  for (const double value : values) RC_ASSERT(value >= found || !more(value));
}

TEST(LinearFit, ALineIsFoundAndExplainsEverything) {
  const auto fit = linear_fit(Values{1, 2, 4}, Values{5, 7, 11});
  ASSERT_TRUE(fit);
  EXPECT_DOUBLE_EQ(fit->slope, 2);
  EXPECT_DOUBLE_EQ(fit->intercept, 3);
  EXPECT_DOUBLE_EQ(*fit->r_squared, 1);
}

TEST(LinearFit, HandMade) {
  // Means 2 and 7/3; xy = 1, xx = 2, yy = 14/3.
  const auto fit = linear_fit(Values{1, 2, 3}, Values{1, 4, 2});
  EXPECT_DOUBLE_EQ(fit->slope, 0.5);
  EXPECT_NEAR(fit->intercept, 7.0 / 3 - 1, 1e-12);
  EXPECT_NEAR(*fit->r_squared, 1.0 / (2 * 14.0 / 3), 1e-12);
}

TEST(LinearFit, NothingToFit) {
  EXPECT_FALSE(linear_fit(Values{}, Values{}));
  EXPECT_FALSE(linear_fit(Values{1}, Values{2}));
  EXPECT_FALSE(linear_fit(Values{1, 1}, Values{2, 3}));
  const auto flat = linear_fit(Values{1, 2}, Values{3, 3});
  ASSERT_TRUE(flat);
  EXPECT_EQ(flat->slope, 0);
  EXPECT_FALSE(flat->r_squared);
}

RC_GTEST_PROP(LinearFit, NoOtherLineIsNearer, ()) {
  const auto points = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(-50, 50), rc::gen::inRange(-50, 50)));
  Values x;
  Values y;
  for (const auto& [a, b] : points) x.push_back(a), y.push_back(b);
  const auto fit = linear_fit(x, y);
  RC_PRE(fit.has_value());
  const auto error = [&](double slope, double intercept) {
    double sum = 0;
    for (std::size_t i = 0; i < x.size(); ++i) sum += std::pow(y[i] - slope * x[i] - intercept, 2);
    return sum;
  };
  const double least = error(fit->slope, fit->intercept);
  for (const double ds : {-0.01, 0.0, 0.01}) {
    for (const double di : {-0.01, 0.0, 0.01}) {
      RC_ASSERT(error(fit->slope + ds, fit->intercept + di) >= least - 1e-6);
    }
  }
  if (fit->r_squared) {
    double mean = 0;
    for (const double v : y) mean += v / static_cast<double>(y.size());
    RC_ASSERT(std::abs(1 - least / error(0, mean) - *fit->r_squared) < 1e-6);
  }
}

}  // namespace
}  // namespace railwave
