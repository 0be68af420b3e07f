// What `railwave plan --json` writes, schema "railwave.plan_summary/1" (docs/formats/plan.md).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "plan_paths.hpp"
#include "plan_phase.hpp"

namespace railwave::cli {

/// One phase and its plan.
std::string summary_json(const PhaseSource& source, const PhaseLayer& layer,
                         const plan::DispatchPlan& plan);
/// The tables of --paths.
std::string summary_json(const std::vector<ScheduleBounds>& rows, const std::vector<Path>& paths);

}  // namespace railwave::cli
