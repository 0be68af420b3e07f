// A plan: windows x rail assignment, as plain data. It decides everything and sends nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
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
    std::span<const Window> submitted{};  ///< the caller's; empty: one window with every pair
    Memory* memory = std::pmr::get_default_resource();   ///< of the plan: outlives it
    Memory* scratch = std::pmr::get_default_resource();  ///< for what is needed to make it
  };

  /// Errors: InvalidArgument{counts} when they are of another number of nodes or rails, when one is
  /// negative or when they do not add up within 64 bits; {windows} as checked_windows.
  /// Cost: O(N^2 R); O(N^2 R log R) where rails are uneven and balanced. Baselines cost more: see
  /// birkhoff_stages() and spray().
  static Result<DispatchPlan> create(const Topology& topology, RailCounts counts,
                                     const Options& options);
  /// The same with a topology that is shared instead of copied.
  static Result<DispatchPlan> create(std::shared_ptr<const Topology> topology, RailCounts counts,
                                     const Options& options);

  [[nodiscard]] Path path() const { return path_; }
  /// The windows that run: the caller's, the waves, or what the baseline plans. Pairs without
  /// records and windows without pairs are left out.
  [[nodiscard]] const Windows& windows() const { return windows_; }
  /// The windows in which the pair sends, ascending; none where it has no records. More than one
  /// only on path birkhoff.
  [[nodiscard]] std::span<const std::size_t> windows_of(NodePair pair) const;
  [[nodiscard]] const Topology& topology() const { return *topology_; }
  [[nodiscard]] const RailCounts& counts() const { return counts_; }
  /// Which rail carries each record of the pair.
  [[nodiscard]] SliceAssignment slice(NodePair pair,
                                      Memory* memory = std::pmr::get_default_resource()) const;
  /// Records per egress rail of the pair, [R]; cheaper than slice().
  [[nodiscard]] std::pmr::vector<std::int64_t> rail_loads(NodePair pair) const {
    return loads_of(pair, std::pmr::get_default_resource());
  }
  /// The part of them that goes in one window, [R]; zeros where the pair does not send in it. On
  /// each rail the slots of slice(pair).by_rail go to the pair's windows in ascending order: the
  /// first window's records have the slots 0..load-1, the next one's follow.
  [[nodiscard]] std::pmr::vector<std::int64_t> rail_loads(
      NodePair pair, std::size_t window, Memory* memory = std::pmr::get_default_resource()) const;

 private:
  DispatchPlan(std::shared_ptr<const Topology> topology, RailCounts counts, Memory* memory);
  [[nodiscard]] std::size_t index_of(NodePair pair) const;
  [[nodiscard]] std::pmr::vector<std::int64_t> loads_of(NodePair pair, Memory* memory) const;
  [[nodiscard]] std::pmr::vector<std::int64_t> quotas(NodePair pair, Memory* memory) const;
  void weigh(Memory* scratch);
  void run_stages(Memory* scratch);
  void index_windows(Memory* scratch);
  std::shared_ptr<const Topology> topology_;
  RailCounts counts_;
  Path path_ = Path::Joint;
  Windows windows_;
  std::pmr::vector<std::size_t> first_send_;   // [N*N+1] where a pair's entries of sends_ begin
  std::pmr::vector<std::size_t> sends_;        // the windows of each pair, ascending
  std::pmr::vector<std::int64_t> sent_loads_;  // [sends_, R]; empty: all that the pair has
  std::pmr::vector<int> start_;                // [N*N] remainder starts
  std::pmr::vector<std::int64_t> quota_;  // [N*N, R] with rails of different weights, else empty
  std::vector<SliceAssignment> sprayed_;  // [N*N] on path spray, else empty
};

}  // namespace railwave::plan
