// What `railwave plan --json` writes, schema "railwave.plan_summary/1" (docs/formats/plan.md).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "plan_paths.hpp"
#include "plan_phase.hpp"

namespace railwave::cli {

/// One phase and its plan.
struct PlannedPhase {
  const PhaseSource& source;
  const PhaseLayer& layer;
  const plan::DispatchPlan& plan;
};
/// `options`: of which the phase was made (below too).
std::string summary_json(const ReplayOptions& options, const PlannedPhase& phase);
/// The tables of --paths.
std::string summary_json(const ReplayOptions& options, const PathBounds& bounds,
                         const std::vector<Path>& paths);

}  // namespace railwave::cli
