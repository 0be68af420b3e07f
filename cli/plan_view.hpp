// Plans as text for people.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <railwave/ids.hpp>

#include "plan/recorded_plan.hpp"
#include "plan_phase.hpp"

namespace railwave::cli {

/// What one window does.
struct WindowFacts {
  int fan_in = 0;            ///< most senders of one receiver
  std::int64_t records = 0;  ///< in all
  std::int64_t busiest = 0;  ///< on the (node, rail, direction) with most
  /// Records over weight where they are most: of a (node, rail, direction) over its weight, of a
  /// pair on a rail over the slower of its two ends. Their sum is plan::barrier_path_bound.
  double longest = 0;
};
std::vector<WindowFacts> window_facts(const plan::RecordedPlan& plan);

/// Cluster, workload, weights, records and bounds in "#" lines.
std::string phase_lines(const PhaseSource& source, const PhaseLayer& layer,
                        const plan::DispatchPlan& plan);
/// One line a window: who sends to whom. Where rails differ also the records over weight.
std::string windows_table(const plan::RecordedPlan& plan);
/// One line a rail of a node: its weight where rails differ, records before and after balancing,
/// with a bar.
std::string rails_table(const plan::RecordedPlan& plan);
/// One line a segment of the pair, of one home rail when given.
std::string segments_table(const plan::RecordedSlice& slice, std::optional<RailId> home);

}  // namespace railwave::cli
