// Why a record goes where it goes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <railwave/error.hpp>

#include "plan/recorded_plan.hpp"
#include "trace_phases.hpp"

namespace railwave::cli {

struct PlanExplanation {
  std::string text{};             ///< for people
  nlohmann::ordered_json json{};  ///< docs/formats/plan.md, "Answers"
};

/// s,d: every segment of the slice; s,d,rail: those of one home rail; s,d,rail,index: one record.
/// `sent` tells the rank whose token it is; without, that is left out.
/// Errors: InvalidArgument{--explain} for another number of numbers or a node out of range; as
/// plan::route_of.
Result<PlanExplanation> explain(const plan::RecordedPlan& plan,
                                const std::vector<std::int64_t>& numbers, const PhaseCounts* sent);

}  // namespace railwave::cli
