// Replay results as JSON, schema "railwave.replay/1" (docs/formats/replay_result.md).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <railwave/error.hpp>

#include "report/replay_result.hpp"

namespace railwave::report {

/// One result as a JSON object, several as an array of such objects; absent fields are left out.
/// Errors: InvalidArgument naming the field when a number is not finite.
Result<std::string> to_json(std::span<const ReplayResult> results);
Result<std::string> to_json(const ReplayResult& result);

/// Reads what to_json writes, and nothing else: an unknown, repeated, missing or ill-typed field is
/// an error. Errors: InvalidArgument naming the field, or the line where it is no JSON;
/// Unsupported{schema} for another schema.
Result<std::vector<ReplayResult>> from_json(std::string_view text);

}  // namespace railwave::report
