// A plan: windows x rail assignment, as plain data. It decides everything and sends nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <railwave/error.hpp>
#include <railwave/path.hpp>
#include <railwave/topology.hpp>

#include "model/rail_counts.hpp"
#include "plan/rail_balance.hpp"

namespace railwave::plan {

/// The plan of one dispatch; combine runs it backwards on the same rails.
/// Slices are computed when asked for, by the same pure functions on every rank, so that a node
/// pays only for its own row and column of the demand. Threads: an immutable value.
class DispatchPlan {
 public:
  struct Options {
    Path path = Path::Joint;
    Windows submitted{};  ///< the caller's windows; empty: one window with every pair
  };

  /// Errors: InvalidArgument{windows} as checked_windows.
  static Result<DispatchPlan> create(const Topology& topology, const RailCounts& counts,
                                     const Options& options);

  [[nodiscard]] Path path() const { return path_; }
  /// The windows that run: the caller's or the waves. Pairs without records and windows without
  /// pairs are left out.
  [[nodiscard]] const Windows& windows() const { return windows_; }
  /// The window in which the pair sends; none where it has no records.
  [[nodiscard]] std::optional<std::size_t> window_of(NodePair pair) const;
  [[nodiscard]] const Topology& topology() const { return topology_; }
  [[nodiscard]] const RailCounts& counts() const { return counts_; }
  /// Which rail carries each record of the pair.
  [[nodiscard]] SliceAssignment slice(NodePair pair) const;
  /// Records per egress rail of the pair, [R]; cheaper than slice().
  [[nodiscard]] std::vector<std::int64_t> rail_loads(NodePair pair) const;

 private:
  DispatchPlan(Topology topology, RailCounts counts)
      : topology_(std::move(topology)), counts_(std::move(counts)) {}
  Topology topology_;
  RailCounts counts_;
  Path path_ = Path::Joint;
  Windows windows_;
  std::vector<std::int32_t> window_of_;  // [N*N] -1: none
  std::vector<int> start_;               // [N*N] remainder starts
};

}  // namespace railwave::plan
