// How received rows lie.
#pragma once

#include <cstdint>
#include <string_view>

namespace railwave {

/// RankMajor: one row per (token, this rank), by (source rank, token). ExpertMajor: one row per
/// (token, slot), grouped by local expert, each group padded with zero rows to the alignment, by
/// (source rank, token, slot) inside a group (DESIGN section 4).
enum class RowLayout : std::uint8_t { RankMajor = 0, ExpertMajor = 1 };

/// "rank-major" or "expert-major".
constexpr std::string_view to_string(RowLayout layout) {
  return layout == RowLayout::ExpertMajor ? "expert-major" : "rank-major";
}

}  // namespace railwave
