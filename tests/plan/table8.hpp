// The submitted windows of the paper's replay schedules (Table 8), N = 4.
#pragma once

#include <array>
#include <vector>

#include <railwave/path.hpp>

namespace railwave::table8 {

/// Destinations of sources 0..3, one row a window.
inline Windows windows(const std::vector<std::array<int, 4>>& destinations) {
  Windows all;
  for (const auto& row : destinations) {
    Window& window = all.emplace_back();
    for (int s = 0; s < 4; ++s) {
      window.push_back({NodeId(s), NodeId(row[static_cast<std::size_t>(s)])});
    }
  }
  return all;
}

inline Windows ring() { return windows({{1, 2, 3, 0}}); }
inline Windows moderate() { return windows({{1, 0, 0, 2}, {2, 3, 1, 0}, {3, 2, 3, 1}}); }
inline Windows extreme() { return windows({{1, 0, 0, 0}, {3, 3, 3, 2}, {2, 2, 1, 1}}); }

}  // namespace railwave::table8
