#include "distance.hpp"

#include <boost/multiprecision/cpp_int.hpp>

#include "log2_fixed.hpp"

namespace railwave::select {
namespace {

// A squared shape difference has up to 208 bits over a denominator of 206; a sum of two over their
// common denominator and 2^64 is below 2^480. Fixed width: no allocation.
using Int = boost::multiprecision::int512_t;

constexpr int kMantissaBits = 62;

/// 2^32 * log2(larger / smaller), at most 2^62.
std::int64_t log2_ratio(Int larger, Int smaller) {
  if (larger < smaller) std::swap(larger, smaller);
  auto exponent = static_cast<int>(msb(larger)) - static_cast<int>(msb(smaller));
  if (larger < (smaller << exponent)) --exponent;
  const Int mantissa = (larger << kMantissaBits) / (smaller << exponent);
  return (static_cast<std::int64_t>(exponent) << kCoordinateBits) +
         log2_of_mantissa(static_cast<std::uint64_t>(mantissa));
}

/// A coordinate's difference |x - x_j|.
struct Difference {
  Int num = 0;
  Int den = 1;  // the same for all anchors of a table
};

Difference shape_difference(const Ratio& value, const Decimal& anchor, const Decimal& divisor) {
  const Int num = Int(value.num) * Decimal::kUnit - Int(anchor.millionths()) * value.den;
  return {abs(num), Int(value.den) * divisor.millionths()};
}

struct Differences {
  std::int64_t payload = 0;  // in units of 2^-32
  Difference rail_skew;
  Difference receiver_concentration;
};

Differences differences(const CostTable& table, const Descriptors& phase, const TrafficPoint& at,
                        bool one_rail) {
  const Int anchor_bytes = Int(at.payload.millionths()) * bytes_of(table.unit);
  Differences out;
  out.payload =
      log2_ratio(Int(phase.payload.num) * Decimal::kUnit, anchor_bytes * phase.payload.den);
  if (!one_rail) {
    out.rail_skew =
        shape_difference(*phase.rail_skew, at.rail_skew, table.scales.rail_skew_divisor);
  }
  out.receiver_concentration =
      shape_difference(*phase.receiver_concentration, at.receiver_concentration,
                       table.scales.receiver_concentration_divisor);
  return out;
}

/// The squared distance times a denominator that all anchors of a table share.
Int scaled_square(const Differences& d) {
  const Int skew_den = d.rail_skew.den * d.rail_skew.den;
  const Int concentration_den = d.receiver_concentration.den * d.receiver_concentration.den;
  const Int shape = d.rail_skew.num * d.rail_skew.num * concentration_den +
                    d.receiver_concentration.num * d.receiver_concentration.num * skew_den;
  return Int(d.payload) * d.payload * skew_den * concentration_den +
         (shape << (2 * kCoordinateBits));
}

std::int64_t rounded_down(const Difference& d) {
  const Int most = Int(1) << 62;
  const Int value = (d.num << kCoordinateBits) / d.den;
  return static_cast<std::int64_t>(value < most ? value : most);
}

}  // namespace

std::strong_ordering Distances::compare(const Anchor& a, const Anchor& b) const {
  const Int first = scaled_square(differences(table_, phase_, a.at, one_rail_));
  const Int second = scaled_square(differences(table_, phase_, b.at, one_rail_));
  return first.compare(second) <=> 0;
}

std::array<std::int64_t, 3> Distances::coordinates(const Anchor& anchor) const {
  const Differences d = differences(table_, phase_, anchor.at, one_rail_);
  return {d.payload, rounded_down(d.rail_skew), rounded_down(d.receiver_concentration)};
}

}  // namespace railwave::select
