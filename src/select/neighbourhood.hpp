// The edges of an anchor's neighbourhood, exact. Private to the room.
#pragma once

#include <cstdint>

#include "log2_fixed.hpp"
#include "select/cost_table.hpp"

namespace railwave::select {

/// whole + num / den with 0 <= num < den. Two of them compare within 128 bits, where their
/// fractions with one denominator would not fit.
struct Mixed {
  std::int64_t whole = 0;
  std::uint64_t num = 0;
  std::uint64_t den = 1;
  /// Rounds towards minus infinity. REQUIRES: den < 2^63, num / den within 64 bits.
  static Mixed of(Wide num, std::uint64_t den);
  static Mixed of(const Ratio& ratio);
};
bool operator<=(const Mixed& a, const Mixed& b);

/// From `low` to `high`, both included.
struct Edges {
  Mixed low;
  Mixed high;
  [[nodiscard]] bool contain(const Mixed& value) const { return low <= value && value <= high; }
};

/// All points for which an anchor is eligible (eq. 11). With one rail every rail skew is.
struct Neighbourhood {
  Edges payload;  ///< bytes
  Edges rail_skew;
  Edges receiver_concentration;
  bool any_rail_skew = false;

  /// REQUIRES: a table that check() accepts.
  static Neighbourhood of(const TrafficPoint& anchor, const CostTable& table, bool one_rail);
  [[nodiscard]] bool has_payload(const Descriptors& phase) const {
    return payload.contain(Mixed::of(phase.payload));
  }
  [[nodiscard]] bool has_rail_skew(const Descriptors& phase) const {
    return any_rail_skew || rail_skew.contain(Mixed::of(*phase.rail_skew));
  }
  [[nodiscard]] bool has_receiver_concentration(const Descriptors& phase) const {
    return receiver_concentration.contain(Mixed::of(*phase.receiver_concentration));
  }
  [[nodiscard]] bool contains(const Descriptors& phase) const {
    return has_payload(phase) && has_rail_skew(phase) && has_receiver_concentration(phase);
  }
};

}  // namespace railwave::select
