// How uneven loads are, and how far one unevenness explains another (paper section 2.3, Fig. 2).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace railwave {

/// Largest load over the mean. Absent without loads or when all are 0. REQUIRES: loads >= 0.
std::optional<double> max_over_mean(std::span<const std::int64_t> loads);
/// Largest load over the sum. Absent as above. REQUIRES: loads >= 0.
std::optional<double> largest_share(std::span<const std::int64_t> loads);

/// The least value with more than `percent` % of the values at or below it: sorted[floor(percent n
/// / 100)]. (Measured times are quoted by nearest rank instead: report/quantiles.hpp.)
/// Absent without values. REQUIRES: percent in 0..99.
std::optional<double> upper_quantile(std::span<const double> values, int percent);

/// y = slope x + intercept by least squares.
struct LinearFit {
  double slope = 0;
  double intercept = 0;
  std::optional<double>
      r_squared;  ///< share of y's variance that x explains; absent: y is constant
};

/// Absent below two points or when x is constant. REQUIRES: x and y of one size.
std::optional<LinearFit> linear_fit(std::span<const double> x, std::span<const double> y);

}  // namespace railwave
