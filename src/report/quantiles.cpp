#include "report/quantiles.hpp"

#include <algorithm>

#include "base/checked.hpp"

namespace railwave::report {
namespace {

std::optional<double> summed(std::span<const std::vector<double>> layers, int percent) {
  if (layers.empty()) return std::nullopt;
  double sum = 0;
  for (const auto& samples : layers) {
    const auto quantile = nearest_rank(samples, percent);
    if (!quantile) return std::nullopt;
    sum += *quantile;
  }
  return sum;
}

}  // namespace

std::optional<double> nearest_rank(std::span<const double> samples, int percent) {
  RAILWAVE_CHECK(percent >= 1 && percent <= 99, "percent %d", percent);
  const auto n = static_cast<std::int64_t>(samples.size());
  const std::int64_t needed = percent <= 50 ? 1 : ceil_div(100, 100 - percent);
  if (n < needed) return std::nullopt;
  std::vector<double> sorted(samples.begin(), samples.end());
  const auto at = sorted.begin() + (ceil_div(percent * n, 100) - 1);
  std::ranges::nth_element(sorted, at);
  return *at;
}

Quantiles sum_of_quantiles(std::span<const std::vector<double>> layers) {
  return {summed(layers, 50), summed(layers, 95), summed(layers, 99)};
}

}  // namespace railwave::report
