#include "neighbourhood.hpp"

namespace railwave::select {
namespace {

constexpr std::uint64_t kUnit = Decimal::kUnit;

/// value - radius * divisor to value + radius * divisor, in units of 10^-12.
Edges around(const Decimal& value, const Decimal& radius, const Decimal& divisor) {
  const Wide centre = static_cast<Wide>(value.millionths()) * Decimal::kUnit;
  const Wide reach = static_cast<Wide>(radius.millionths()) * divisor.millionths();
  return {Mixed::of(centre - reach, kUnit * kUnit), Mixed::of(centre + reach, kUnit * kUnit)};
}

/// value / factor to value * factor, in bytes.
Edges within_factor(const Decimal& value, const Decimal& factor, std::int64_t unit_bytes) {
  const Wide bytes = static_cast<Wide>(value.millionths()) * unit_bytes;  // in millionths
  return {Mixed::of(bytes, static_cast<std::uint64_t>(factor.millionths())),
          Mixed::of(bytes * factor.millionths(), kUnit * kUnit)};
}

}  // namespace

Mixed Mixed::of(Wide num, std::uint64_t den) {
  const auto divisor = static_cast<Wide>(den);
  Wide whole = num / divisor;
  Wide rest = num % divisor;
  if (rest < 0) {
    rest += divisor;
    --whole;
  }
  return {static_cast<std::int64_t>(whole), static_cast<std::uint64_t>(rest), den};
}

Mixed Mixed::of(const Ratio& ratio) {
  return {ratio.num / ratio.den, static_cast<std::uint64_t>(ratio.num % ratio.den),
          static_cast<std::uint64_t>(ratio.den)};
}

bool operator<=(const Mixed& a, const Mixed& b) {
  if (a.whole != b.whole) return a.whole < b.whole;
  return static_cast<UWide>(a.num) * b.den <= static_cast<UWide>(b.num) * a.den;
}

Neighbourhood Neighbourhood::of(const TrafficPoint& anchor, const CostTable& table, bool one_rail) {
  const Scales& scales = table.scales;
  return {within_factor(anchor.payload, scales.payload_factor, bytes_of(table.unit)),
          around(anchor.rail_skew, scales.shape_radius, scales.rail_skew_divisor),
          around(anchor.receiver_concentration, scales.shape_radius,
                 scales.receiver_concentration_divisor),
          one_rail};
}

}  // namespace railwave::select
