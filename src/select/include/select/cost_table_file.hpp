// Cost tables as JSON text and back (docs/formats/cost_table.md).
#pragma once

#include <string>
#include <string_view>

#include <railwave/error.hpp>

#include "select/cost_table.hpp"

namespace railwave::select {

inline constexpr std::string_view kCostTableSchema = "railwave.cost_table/1";
/// Longer texts are refused before they are parsed.
inline constexpr std::size_t kMostTableBytes = std::size_t{8} << 20;

/// Reads the text of a cost table strictly: every key known, present and of its type, every value
/// in range. `name` stands in front of every message. Memory stays within a small multiple of
/// the text.
/// Errors: InvalidArgument whose message is "NAME:LINE:COLUMN: ..." for text that is not JSON, else
/// "NAME: POINTER: ..." with what was expected; the field is the JSON pointer. Unsupported{/schema}
/// for another schema.
Result<CostTable> parse_cost_table(std::string_view text, std::string_view name);

/// The same from a file. Errors: also InvalidArgument{cost_table} when it can not be read.
Result<CostTable> read_cost_table(const std::string& path);

/// JSON text; parse_cost_table gives an equal table back.
/// Errors: those of check(), and InvalidArgument for a text that is not UTF-8.
Result<std::string> to_json(const CostTable& table);

}  // namespace railwave::select
