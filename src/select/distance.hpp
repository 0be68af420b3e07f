// How far a phase lies from an anchor, without rounding but in the logarithm. Private to the room.
#pragma once

#include <array>
#include <compare>
#include <cstdint>

#include "select/cost_table.hpp"

namespace railwave::select {

/// Distances from one phase to the anchors of one table: the sum of the squares of |log2(B / B_j)|,
/// rounded to 2^-32 as a function of the larger over the smaller payload, of |rho - rho_j| /
/// divisor (0 with one rail) and of |kappa - kappa_j| / divisor, both exact. So anchors that lie as
/// far on either side tie. Slow: for ties, near ties and people. Source: eq. 12.
class Distances {
 public:
  /// REQUIRES: `table` outlives this and passes check(); `phase` has a payload and both skews.
  Distances(const CostTable& table, const Descriptors& phase, bool one_rail)
      : table_(table), phase_(phase), one_rail_(one_rail) {}

  /// Which of two eligible anchors is nearer.
  [[nodiscard]] std::strong_ordering compare(const Anchor& a, const Anchor& b) const;
  /// The three coordinates' differences in units of 2^-32, rounded down, at most 2^62.
  [[nodiscard]] std::array<std::int64_t, 3> coordinates(const Anchor& anchor) const;

 private:
  const CostTable& table_;
  const Descriptors& phase_;
  bool one_rail_;
};

}  // namespace railwave::select
