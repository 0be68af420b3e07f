// JSON texts of files that anybody may have written.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>
#include <tl/expected.hpp>

namespace railwave {

/// What a text may hold at most, so that a hostile one costs little.
struct JsonLimits {
  std::size_t values = 0;  ///< of any kind, keys included
  std::size_t keys = 0;    ///< of one object: they are kept in a list
  std::size_t depth = 0;   ///< objects and arrays inside each other
};

/// Why a text is refused, and where: lines and columns (bytes) count from 1.
struct JsonFault {
  std::size_t line = 1;
  std::size_t column = 1;
  std::string sentence;
};

/// A text of a file as a message may show it: printable, and of at most `most` bytes.
std::string shown(std::string_view text, std::size_t most = 40);

/// The text's one value. Refuses what is not JSON (RFC 8259), numbers beyond a double, a key that
/// comes twice in an object, and texts beyond the limits as soon as they are. Cost: O(text).
tl::expected<nlohmann::ordered_json, JsonFault> parse_strict_json(std::string_view text,
                                                                  const JsonLimits& limits);

/// The text of a JSON file, with a line end. Names that are no UTF-8 are written with U+FFFD.
std::string json_text(const nlohmann::ordered_json& value, int indent = 2);

}  // namespace railwave
