#include "log2_fixed.hpp"

#include <bit>

namespace railwave::select {
namespace {

constexpr int kMantissaBits = 62;

int bits_of(std::uint64_t value) { return static_cast<int>(std::bit_width(value)); }

int bits_of(UWide value) {
  const auto high = static_cast<std::uint64_t>(value >> 64);
  return high != 0 ? 64 + bits_of(high) : bits_of(static_cast<std::uint64_t>(value));
}

}  // namespace

std::int64_t log2_of_mantissa(std::uint64_t mantissa) {
  // Squaring doubles the logarithm; what passes 2 is the next binary digit.
  std::int64_t digits = 0;
  for (int i = 0; i < kCoordinateBits; ++i) {
    const auto square =
        static_cast<std::uint64_t>((static_cast<UWide>(mantissa) * mantissa) >> kMantissaBits);
    const std::uint64_t digit = square >> (kMantissaBits + 1);
    digits = 2 * digits + static_cast<std::int64_t>(digit);
    mantissa = square >> digit;
  }
  return digits;
}

std::int64_t log2_fixed(UWide num, std::uint64_t den) {
  int exponent = bits_of(num) - bits_of(den);
  const bool below =
      exponent >= 0 ? num < (static_cast<UWide>(den) << exponent) : (num << -exponent) < den;
  if (below) --exponent;
  const auto mantissa = static_cast<std::uint64_t>((num << (kMantissaBits - exponent)) / den);
  return static_cast<std::int64_t>(exponent) * (std::int64_t{1} << kCoordinateBits) +
         log2_of_mantissa(mantissa);
}

}  // namespace railwave::select
