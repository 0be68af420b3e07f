// Plans as JSON, schema "railwave.plan/1" (docs/formats/plan.md).
#pragma once

#include <string>
#include <string_view>

#include <railwave/error.hpp>

#include "plan/recorded_plan.hpp"

namespace railwave::report {

constexpr std::string_view kPlanSchema = "railwave.plan/1";

/// One line for each node, window and slice, so that two files can be compared by eye.
std::string plan_to_json(const plan::RecordedPlan& plan);

/// Reads what plan_to_json writes, and nothing else. Every node, rail and window that the plan
/// names is there and no sum of its numbers overflows; whether it is a good plan is the checker's
/// question. Nothing is allocated beyond what the text justifies.
/// Errors: InvalidArgument naming the field ("slices[3].segments[0]: ..."), or the line where it is
/// no JSON; Unsupported{schema} for another schema.
Result<plan::RecordedPlan> plan_from_json(std::string_view text);

/// The same from a file of at most 256 MiB. Errors: as plan_from_json, each naming the file.
Result<plan::RecordedPlan> read_plan(const std::string& path);

}  // namespace railwave::report
