// A trace as it lies on a cluster, layer by layer.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <railwave/error.hpp>
#include <railwave/path.hpp>
#include <railwave/placement.hpp>
#include <railwave/topology.hpp>

#include "model/rail_counts.hpp"
#include "replay_options.hpp"
#include "workload/rank_routing.hpp"
#include "workload/schedule.hpp"
#include "workload/trace.hpp"

namespace railwave::cli {

/// Reads `file`, or generates a trace where there is none: token ids when `with_ids`, else counts.
/// `experts`: 0 where the file says it, or for the generator's own number.
/// Errors: InvalidArgument of the reader or the generator.
Result<workload::Trace> load_trace(const std::string& file, int experts, std::uint64_t seed,
                                   bool with_ids);
/// The file's name without its folder, or "generated".
std::string trace_name(const std::string& file);

/// What one layer sends, in numbers.
struct PhaseCounts {
  Windows windows;                      ///< as submitted; empty: all pairs at once
  std::vector<std::int64_t> node_rows;  ///< [P, N] from each rank to each node, own included
  RailCounts counts{1, 1};              ///< records of the dispatch
};

/// What one layer sends, row by row.
struct PhaseRouting {
  Windows windows;                             ///< as submitted; empty: all pairs at once
  std::vector<workload::RankRouting> routing;  ///< [P]
};

/// Threads: an immutable value.
class TracePhases {
 public:
  /// Reads or generates the trace and lays it on the cluster. The same on every rank.
  /// Errors: InvalidArgument for the trace, its shape, --hidden or an uneven cluster under a
  /// schedule; ResourceExhausted when a layer's counts would not fit (limits.hpp).
  static Result<TracePhases> open(const ReplayOptions& options, const ReplayRequest& request,
                                  const Topology& topology);

  [[nodiscard]] const std::string& name() const { return name_; }
  /// Those of the trace, or fewer when --layers says so.
  [[nodiscard]] int layers() const { return layers_; }
  [[nodiscard]] int top_k() const { return by_trace_ ? trace_.top_k() : 1; }
  [[nodiscard]] std::int64_t row_bytes() const { return shape_.row_bytes; }
  [[nodiscard]] const Placement& placement() const { return placement_; }
  [[nodiscard]] const Topology& topology() const { return topology_; }

  /// Memory and time do not grow with the rows of a schedule. REQUIRES: layer < layers(), here and
  /// below. Errors: as ReplayPhase::create() and trace_routing(); InvalidArgument{--payload-mib}
  /// when it is less than one row in all.
  [[nodiscard]] Result<PhaseCounts> counts(int layer) const;
  /// Errors: likewise; ResourceExhausted when the rows would not fit.
  [[nodiscard]] Result<PhaseRouting> routing(int layer) const;

 private:
  TracePhases(workload::Trace trace, Topology topology, Placement placement)
      : trace_(std::move(trace)),
        topology_(std::move(topology)),
        placement_(std::move(placement)) {}
  [[nodiscard]] Result<workload::ReplayPhase> scheduled(int layer) const;

  workload::Trace trace_;
  Topology topology_;
  Placement placement_;
  std::string name_;
  int layers_ = 0;
  bool by_trace_ = false;
  workload::ReplayPhase::Options shape_;      // of a schedule
  workload::ReplayCluster cluster_;           // of a schedule
  std::optional<std::int64_t> max_tokens_{};  // of the trace's own ids
};

}  // namespace railwave::cli
