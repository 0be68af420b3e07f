// Where a refusal says that a text is wrong.
#pragma once

#include <cstddef>
#include <string_view>

namespace railwave {

/// Is `text` "LINE:COLUMN: SENTENCE"?
inline bool begins_with_line_and_column(std::string_view text) {
  for (const std::string_view after : {":", ": "}) {
    const std::size_t digits = text.find_first_not_of("0123456789");
    if (digits == std::string_view::npos || digits == 0) return false;
    text.remove_prefix(digits);
    if (!text.starts_with(after)) return false;
    text.remove_prefix(after.size());
  }
  return !text.empty();
}

}  // namespace railwave
