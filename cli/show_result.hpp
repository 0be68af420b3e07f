// How a measurement ends: its table, its file, its verdict.
#pragma once

#include <string>

#include <fmt/format.h>

#include <railwave/error.hpp>

#include "base/fail.hpp"
#include "report/private_file.hpp"

namespace railwave::cli {

/// Prints the table of `result` and writes its JSON to `json_file` unless that is empty.
/// Errors: of the file; the result's own verdict, after both.
template <class Result>
Status show_result(const Result& result, const std::string& json_file) {
  fmt::print("{}", to_table(result));
  if (!json_file.empty()) {
    const auto json = to_json(result);
    if (!json) return fail(json.error());
    RAILWAVE_TRY(report::write_private_file(json_file, *json));
  }
  return verdict(result);
}

}  // namespace railwave::cli
