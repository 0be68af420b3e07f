// Guards the TOML library's stack. Private to the testbed.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace railwave::testbed {

/// Line and column from 1, as the TOML library counts them for ASCII.
struct TextPlace {
  std::size_t line = 1;
  std::size_t column = 1;
};

/// Where the dots outside of strings and comments become more than `most`. Every such dot of a key
/// may be a table inside the one before, and the library destroys tables recursively without a
/// limit: 40,000 of them overflow a stack of 8 MiB.
std::optional<TextPlace> too_many_dots(std::string_view text, std::size_t most);

}  // namespace railwave::testbed
