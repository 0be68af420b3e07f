// B, rho, kappa, phi: what the selector sees of a phase (paper section 2.2, eq. 4-7).
#pragma once

#include <cstdint>
#include <numeric>
#include <optional>

#include <railwave/error.hpp>
#include <railwave/path.hpp>

#include "model/rail_counts.hpp"

namespace railwave {

/// An exact non-negative fraction in lowest terms.
struct Ratio {
  std::int64_t num = 0;
  std::int64_t den = 1;
  [[nodiscard]] double value() const { return static_cast<double>(num) / static_cast<double>(den); }
  friend bool operator==(const Ratio&, const Ratio&) = default;
};

/// num / den in lowest terms. REQUIRES: num >= 0, den >= 1.
constexpr Ratio reduced(std::int64_t num, std::int64_t den) {
  const std::int64_t divisor = std::gcd(num, den);
  return {num / divisor, den / divisor};
}

/// Descriptors of one phase; absent skews mean that no byte leaves a node.
struct Descriptors {
  Ratio payload;                                ///< B, bytes per rank, eq. 4
  std::optional<Ratio> rail_skew;               ///< rho, eq. 5, over all N * R rails
  std::optional<Ratio> receiver_concentration;  ///< kappa, eq. 6-7, windows as submitted
  int fan_in = 0;                               ///< phi: most senders of one receiver in a window
};

/// `submitted` empty: one window with every pair, as in DispatchPlan::Options.
/// REQUIRES: windows that plan::checked_windows accepts, counts that are not negative.
/// Units: `row_bytes` bytes a record. Errors: InvalidArgument{row_bytes} when it is below 1 or B
/// overflows 64 bits, {ranks} below 1, {records} when a skew in lowest terms overflows.
/// Source: eq. 4-7; fan-in is ours.
Result<Descriptors> describe(const RailCounts& counts, const Windows& submitted,
                             std::int64_t row_bytes, int ranks);

}  // namespace railwave
