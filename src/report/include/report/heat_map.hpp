// Matrices and loads as text that shows where the heat is.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace railwave::report {

/// Colours only where the reader is a terminal; else shades are the characters " .:-=+*#%@".
enum class Shades : std::uint8_t { Characters = 0, Colours = 1 };

/// A square matrix of loads >= 0, row-major; rows send, columns receive.
struct HeatMap {
  std::string title;
  std::span<const std::int64_t> cells;  ///< [n, n]
  std::size_t size = 0;                 ///< n
  std::size_t group = 0;                ///< a gap after every so many rows and columns; 0: none
};

/// How hot a load is, 0..9: 0 only for nothing, 9 only for the largest. REQUIRES: 0 <= load <=
/// largest.
int heat(std::int64_t load, std::int64_t largest);

/// Every cell as its number and a shade. Lines start with '#' and end with a newline.
std::string numbered_map(const HeatMap& map, Shades shades);
/// Every cell as a shade of one column, for maps too large for numbers; otherwise the same.
std::string shaded_map(const HeatMap& map, Shades shades);

/// One line a load: its name, a bar in proportion to the largest, its share of the sum.
/// REQUIRES: as many names as loads.
std::string bars(const std::string& title, const std::vector<std::string>& names,
                 std::span<const std::int64_t> loads, Shades shades);

}  // namespace railwave::report
