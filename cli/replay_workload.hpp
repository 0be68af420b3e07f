// The layers of a replay: routing of every rank, windows, counts.
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
#include "workload/replay_rows.hpp"

namespace railwave::cli {

struct ReplayLayer {
  Windows windows;                             ///< as submitted; empty: all pairs at once
  std::vector<workload::RankRouting> routing;  ///< [P]
  RailCounts counts{1, 1};                     ///< (computed) records of the dispatch
  std::int64_t row_copies = 0;  ///< (computed) rows that all ranks receive, own ones too
};

struct ReplayWorkload {
  std::string trace_name;
  Placement placement;
  int top_k = 1;
  std::int64_t max_tokens = 0;     ///< of any rank in any layer
  std::int64_t max_recv_rows = 0;  ///< of any rank in any layer
  std::vector<ReplayLayer> layers;

  /// Adds a layer of which routing and windows are set, and what follows from it.
  void add(ReplayLayer layer, const Topology& topology);
  /// Source rank and token of the rows that `rank` receives, in their order.
  [[nodiscard]] std::vector<workload::RowIdentity> received(std::size_t layer, RankId rank) const;
};

/// Reads or generates the trace and lays it on the cluster. The same on every rank.
/// Errors: as TracePhases; ResourceExhausted when the rows of all layers would not fit.
Result<ReplayWorkload> make_workload(const ReplayOptions& options, const ReplayRequest& request,
                                     const Topology& topology);

}  // namespace railwave::cli
