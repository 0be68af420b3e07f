// Logarithms to base 2 by integers alone. Private to the room.
#pragma once

#include <cstdint>

namespace railwave::select {

using Wide = __int128;
using UWide = unsigned __int128;

/// Places after the binary point of every coordinate.
inline constexpr int kCoordinateBits = 32;

/// 2^32 * log2(mantissa / 2^62), rounded down up to a few units in the last place.
/// REQUIRES: 2^62 <= mantissa < 2^63.
std::int64_t log2_of_mantissa(std::uint64_t mantissa);

/// 2^32 * log2(num / den), as above: a function of the value, however the fraction is written.
/// REQUIRES: 0 < num < 2^127, 0 < den < 2^63, num / den < 2^63.
std::int64_t log2_fixed(UWide num, std::uint64_t den);

}  // namespace railwave::select
