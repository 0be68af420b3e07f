// Logarithms to base 2 by integers alone. Private to the room.
#pragma once

#include <cstdint>

namespace railwave::select {

using Wide = __int128;
using UWide = unsigned __int128;

/// Places after the binary point of every coordinate.
inline constexpr int kCoordinateBits = 32;

/// 2^32 * log2(mantissa / 2^62), rounded down up to a few units in the last place, digit by digit.
/// This is the definition. REQUIRES: 2^62 <= mantissa < 2^63.
constexpr std::int64_t log2_of_mantissa(std::uint64_t mantissa) {
  // Squaring doubles the logarithm; what passes 2 is the next binary digit.
  std::int64_t digits = 0;
  for (int i = 0; i < kCoordinateBits; ++i) {
    const auto square = static_cast<std::uint64_t>((static_cast<UWide>(mantissa) * mantissa) >> 62);
    const std::uint64_t digit = square >> 63;
    digits = 2 * digits + static_cast<std::int64_t>(digit);
    mantissa = square >> digit;
  }
  return digits;
}

/// 2^32 * log2(num / den), within 4 units of the definition and ten times as fast: to look where
/// the answer may be, not to give it. REQUIRES: 0 < num < 2^127, 0 < den < 2^63, num / den < 2^63.
std::int64_t log2_estimate(UWide num, std::uint64_t den);

}  // namespace railwave::select
