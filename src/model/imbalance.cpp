#include "model/imbalance.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/checked.hpp"

namespace railwave {
namespace {

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// The sum of (x - mean x)(y - mean y).
double covariation(std::span<const double> x, std::span<const double> y) {
  const double mean_x = mean(x);
  const double mean_y = mean(y);
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] - mean_x) * (y[i] - mean_y);
  return sum;
}

bool constant(std::span<const double> values) {
  return std::ranges::all_of(values, [&](double value) { return value == values.front(); });
}

}  // namespace

std::optional<double> largest_share(std::span<const std::int64_t> loads) {
  // Doubles, because the sum of loads may pass 64 bits.
  double sum = 0;
  std::int64_t largest = 0;
  for (const std::int64_t load : loads) {
    sum += static_cast<double>(load);
    largest = std::max(largest, load);
  }
  if (largest == 0) return std::nullopt;
  return static_cast<double>(largest) / sum;
}

std::optional<double> max_over_mean(std::span<const std::int64_t> loads) {
  const auto share = largest_share(loads);
  if (!share) return std::nullopt;
  return *share * static_cast<double>(loads.size());
}

std::optional<double> upper_quantile(std::span<const double> values, int percent) {
  RAILWAVE_CHECK(percent >= 0 && percent <= 99, "percent %d", percent);
  if (values.empty()) return std::nullopt;
  std::vector<double> sorted(values.begin(), values.end());
  std::ranges::sort(sorted);
  return sorted[sorted.size() * static_cast<std::size_t>(percent) / 100];
}

std::optional<LinearFit> linear_fit(std::span<const double> x, std::span<const double> y) {
  RAILWAVE_CHECK(x.size() == y.size(), "%zu and %zu values", x.size(), y.size());
  if (x.size() < 2 || constant(x)) return std::nullopt;
  const double xx = covariation(x, x);
  const double xy = covariation(x, y);
  LinearFit fit;
  fit.slope = xy / xx;
  fit.intercept = mean(y) - fit.slope * mean(x);
  if (!constant(y)) fit.r_squared = xy * xy / (xx * covariation(y, y));
  return fit;
}

}  // namespace railwave
