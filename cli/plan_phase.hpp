// One phase of a workload and its plan by one path, for `railwave plan`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <railwave/error.hpp>
#include <railwave/path.hpp>
#include <railwave/topology.hpp>

#include "plan/dispatch_plan.hpp"
#include "plan/recorded_plan.hpp"
#include "replay_options.hpp"
#include "testbed/cluster_spec.hpp"
#include "trace_phases.hpp"

namespace railwave::cli {

/// Which phase: as typed.
struct PhaseOptions {
  ReplayOptions workload{};
  int layer = 0;
  std::string path = "joint";
};

/// One layer of a trace.
struct PhaseLayer {
  int layer = 0;
  PhaseCounts sent{};
};

/// A cluster and what its layers send.
struct PhaseSource {
  testbed::ClusterSpec spec;
  TracePhases phases;

  [[nodiscard]] const Topology& topology() const { return phases.topology(); }
  /// Errors: InvalidArgument{--layer} when the trace has no such layer; as TracePhases::counts().
  [[nodiscard]] Result<PhaseLayer> layer(int index) const;
  /// bit/s of a rail of weight 1: the rate of every rail, or what all rates are multiples of.
  [[nodiscard]] std::int64_t rate_of_weight_one() const;
  /// Seconds for so many records over weight, less the token bucket's burst.
  [[nodiscard]] double seconds(double records) const;
  /// The plan of one layer. Errors: as DispatchPlan::create.
  [[nodiscard]] Result<plan::DispatchPlan> plan(const PhaseLayer& layer, Path path) const;
};

/// Errors: InvalidArgument naming the option, the file or the field.
Result<PhaseSource> phase_source(const ReplayOptions& options);

/// Whether rails have other weights than 1.
bool has_weights(const Topology& topology);

/// What the bounds say of one plan. Units: records over the weight of the rail (plan/lower_bound),
/// which are records where rails are alike.
struct PhaseBounds {
  double least = 0;    ///< LB1, whatever the plan
  double barrier = 0;  ///< path bound with a barrier between windows
  double free = 0;     ///< path bound when windows run free
};
PhaseBounds bounds_of(const plan::DispatchPlan& plan);

/// Records by (node, rail) as they leave and arrive.
struct RailLoads {
  std::vector<std::int64_t> sent;      ///< [N*R]
  std::vector<std::int64_t> received;  ///< [N*R]
};
/// On home rails, before anything is balanced; a rail that is down may be among them. What leaves
/// by a home rail would arrive at chi of it.
RailLoads home_loads(const plan::RecordedPlan& plan);
/// As the plan carries them.
RailLoads planned_loads(const plan::RecordedPlan& plan);

/// Of all rows of the layer, one for each token and node: the share that stays in its own node.
double intra_node_share(const PhaseSource& source, const PhaseLayer& layer);

}  // namespace railwave::cli
