#include "select/miss.hpp"

#include <boost/multiprecision/cpp_int.hpp>

#include "base/checked.hpp"

namespace railwave::select {
namespace {

using Int = boost::multiprecision::cpp_int;
using Rational = boost::multiprecision::cpp_rational;

constexpr int kDigits = 4;
/// Of the product of two decimals of a table.
constexpr int kExactPlaces = 2 * Decimal::kPlaces;

Rational exact(const Ratio& value) { return {value.num, value.den}; }
Rational exact(const Decimal& value) { return {value.millionths(), Decimal::kUnit}; }

Rational ten_to(int places) { return Rational(pow(Int(10), static_cast<unsigned>(places))); }

/// value * 10^places to the nearest whole number. REQUIRES: value >= 0.
Int scaled(const Rational& value, int places) {
  const Rational shifted = value * ten_to(places);
  return (2 * numerator(shifted) + denominator(shifted)) / (2 * denominator(shifted));
}

/// Rounded to so many places behind the point, without zeros at the end.
std::string decimal(const Rational& value, int places) {
  std::string digits = scaled(value, places).str();
  const auto behind = static_cast<std::size_t>(places);
  if (digits.size() <= behind) digits.insert(0, behind + 1 - digits.size(), '0');
  std::string fraction = digits.substr(digits.size() - behind);
  digits.resize(digits.size() - behind);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return fraction.empty() ? digits : digits + "." + fraction;
}

/// Places that show kDigits digits of a value above 0.
int places_of(const Rational& value) {
  const Int least = pow(Int(10), kDigits - 1U);
  int places = 0;
  while (scaled(value, places) < least) ++places;
  return places;
}

/// REQUIRES: off > allowed, allowed of at most kExactPlaces places.
Miss miss_of(const Rational& off, const Rational& allowed, const Rational& beyond) {
  RAILWAVE_CHECK(off > allowed, "off by %s, inside", off.str().c_str());
  int places = places_of(off);
  while (scaled(off, places) <= allowed * ten_to(places)) ++places;
  return {decimal(off, places), decimal(allowed, kExactPlaces), decimal(beyond, places_of(beyond))};
}

Miss shape_miss(const Ratio& value, const Decimal& anchor, const Rational& reach) {
  const Rational off = abs(exact(value) - exact(anchor));
  return miss_of(off, reach, off - reach);
}

}  // namespace

Miss payload_miss(const CostTable& table, const Descriptors& phase, const Anchor& anchor) {
  const Rational ratio = exact(phase.payload) / (exact(anchor.at.payload) * bytes_of(table.unit));
  const Rational off = ratio >= 1 ? ratio : 1 / ratio;
  const Rational factor = exact(table.scales.payload_factor);
  return miss_of(off, factor, 100 * (off / factor - 1));
}

Miss rail_skew_miss(const CostTable& table, const Descriptors& phase, const Anchor& anchor) {
  return shape_miss(*phase.rail_skew, anchor.at.rail_skew,
                    exact(table.scales.shape_radius) * exact(table.scales.rail_skew_divisor));
}

Miss concentration_miss(const CostTable& table, const Descriptors& phase, const Anchor& anchor) {
  return shape_miss(
      *phase.receiver_concentration, anchor.at.receiver_concentration,
      exact(table.scales.shape_radius) * exact(table.scales.receiver_concentration_divisor));
}

}  // namespace railwave::select
