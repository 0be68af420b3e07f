// Small floating-point formats by their definition, in doubles: to compare with, sharing no code
// with src/.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace railwave::reference {

/// What defines a format. Exponent e is stored as e - least_exponent + 1; stored 0 means subnormal.
struct Format {
  int bits;
  int fraction_bits;
  int least_exponent;
  double largest;     // finite
  bool has_infinity;  // after the largest; else the one pattern after it is NaN
  std::uint32_t nan;  // as results store it
};

constexpr Format kFp16{16, 10, -14, 65504, true, 0x7e00};
constexpr Format kBf16{16, 7, -126, 0x1.fep127, true, 0x7fc0};
constexpr Format kFp8E4M3{8, 3, -6, 448, false, 0x7f};

inline std::uint32_t sign_bit(const Format& format) { return 1U << (format.bits - 1); }

/// What the magnitude bits would mean if there were no special patterns.
inline double unlimited(std::uint32_t magnitude, const Format& format) {
  const std::uint32_t scale = 1U << format.fraction_bits;
  const auto fraction = static_cast<double>(magnitude % scale) / scale;
  const auto stored = static_cast<int>(magnitude / scale);
  if (stored == 0) return std::ldexp(fraction, format.least_exponent);
  return std::ldexp(1 + fraction, stored - 1 + format.least_exponent);
}

/// The value of a bit pattern.
inline double value_of(std::uint32_t bits, const Format& format) {
  const std::uint32_t sign = sign_bit(format);
  const double value = unlimited(bits & (sign - 1), format);
  if (value <= format.largest) return (bits & sign) != 0 ? -value : value;
  const bool first_special = (bits & (sign - 1)) % (1U << format.fraction_bits) == 0;
  if (!format.has_infinity || !first_special) return std::nan("");
  return (bits & sign) != 0 ? -HUGE_VAL : HUGE_VAL;
}

/// The magnitude bits after the largest finite ones: infinity, or NaN.
inline std::uint32_t first_special(const Format& format) {
  std::uint32_t bits = 0;
  while (unlimited(bits, format) <= format.largest) ++bits;
  return bits;
}

/// The nearest value of the format, ties to even, by counting units in the last place.
inline double rounded(double value, const Format& format) {
  if (value == 0 || std::isnan(value)) return value;
  const double beyond = format.has_infinity ? std::copysign(HUGE_VAL, value) : std::nan("");
  if (std::isinf(value)) return beyond;
  const int exponent = std::max(std::ilogb(value), format.least_exponent);
  const double unit = std::ldexp(1.0, exponent - format.fraction_bits);
  const double nearest = std::nearbyint(value / unit) * unit;
  return std::fabs(nearest) <= format.largest ? nearest : beyond;
}

}  // namespace railwave::reference
