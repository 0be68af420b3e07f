// Replay schedules: one layer's expert counts as a phase on a cluster (paper App. A.2, A.6).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <railwave/error.hpp>
#include <railwave/ids.hpp>
#include <railwave/path.hpp>
#include <railwave/placement.hpp>

#include "workload/bins.hpp"
#include "workload/rank_routing.hpp"

namespace railwave::workload {

/// Who sends to whom, and in which windows.
///   Ring       node s to s+1, one window (N >= 2)
///   Moderate   every remote node, N - 1 windows with incast degrees 2, 1, 2, ... (N >= 3; Table 8
///   at
///              N = 4; workload/schedule_windows.hpp)
///   Extreme    the same demand in windows with incast degrees N - 1, N - 1, N - 2, ... (N >= 3)
///   AllAtOnce  the same demand in one window (N >= 2)
///   NodeSkew   N-type: nodes 1, 2, 3 to node 0, volumes 1:2:3, rails even, one window (N >= 4)
///   RailSkew   R-type: nodes 1, 2, 3 to node 0, equal volumes, all on the first ceil(G/4) ranks
///              of each, one window (N >= 4)
enum class Schedule : std::uint8_t {
  Ring = 0,
  Moderate = 1,
  Extreme = 2,
  AllAtOnce = 3,
  NodeSkew = 4,
  RailSkew = 5
};

constexpr std::array<Schedule, 6> kAllSchedules{Schedule::Ring,     Schedule::Moderate,
                                                Schedule::Extreme,  Schedule::AllAtOnce,
                                                Schedule::NodeSkew, Schedule::RailSkew};

constexpr std::string_view to_string(Schedule schedule) {
  constexpr std::array<std::string_view, 6> kNames{"ring",        "moderate", "extreme",
                                                   "all-at-once", "n-type",   "r-type"};
  return kNames[static_cast<std::size_t>(schedule)];
}

constexpr std::optional<Schedule> schedule_from_string(std::string_view name) {
  for (const Schedule schedule : kAllSchedules) {
    if (to_string(schedule) == name) return schedule;
  }
  return std::nullopt;
}

/// N nodes of G ranks; rank g of a node leaves by home rail g when there are G rails.
struct ReplayCluster {
  int nodes = 4;           ///< N
  int ranks_per_node = 8;  ///< G
};

/// One replayed dispatch. Every row is a token with one expert (K = 1) on a remote node: rank (s,
/// g) sends bin g's volume to ranks (d, g), spread over that rank's experts in turn; N-type and
/// R-type spread it over all experts of node 0. Threads: an immutable value; may be shared.
class ReplayPhase {
 public:
  struct Options {
    Schedule schedule = Schedule::Ring;
    BinOrder order = BinOrder::Sorted;
    /// Absent: bin g's count of rows leaves every rank (s, g). Given: floor(x * 2^20 * P /
    /// row_bytes) rows leave in all, shared by the sending nodes (equally but for N-type) and then
    /// by the bins.
    std::optional<double> payload_mib{};
    std::int64_t row_bytes = 0;  ///< bytes of a row; only read with payload_mib
  };

  /// `expert_counts` [E] of one layer. Errors: InvalidArgument{nodes, ranks_per_node,
  /// expert_counts, payload_mib, row_bytes}; Unsupported{schedule} for Moderate and Extreme when N
  /// < 3, for N-type and R-type when N < 4.
  static Result<ReplayPhase> create(ReplayCluster cluster,
                                    std::span<const std::int64_t> expert_counts,
                                    const Options& options);

  /// Contiguous, over max(E, P) experts, so that every rank owns one.
  [[nodiscard]] const Placement& placement() const { return placement_; }
  /// As submitted (docs/schedules.md); together they hold every pair that has rows.
  [[nodiscard]] const Windows& windows() const { return windows_; }
  /// T of the rank.
  [[nodiscard]] std::int64_t tokens(RankId rank) const { return rows_[rank.index()]; }
  /// The rank's tokens; consecutive ones go to consecutive destination nodes s+1, s+2, ..., so
  /// each gets the quotient and the first ones the remainder.
  [[nodiscard]] RankRouting routing(RankId rank) const;

  /// [P, N] rows from each rank to each node: what routing() says, without an entry a row.
  [[nodiscard]] std::vector<std::int64_t> node_rows() const;

  /// Rows from source node to destination node.
  [[nodiscard]] std::int64_t rows(NodePair pair) const;
  /// Rows that leave by rank g of any node: the volume of bin g, and of home rail g.
  [[nodiscard]] std::int64_t bin_rows(int bin) const;
  /// All rows of the phase.
  [[nodiscard]] std::int64_t total_rows() const;

 private:
  ReplayPhase(ReplayCluster cluster, Schedule schedule, Placement placement);
  [[nodiscard]] std::int64_t rows_to(RankId rank, std::size_t destination) const;

  ReplayCluster cluster_;
  bool to_whole_node_;  // N-type, R-type
  Placement placement_;
  Windows windows_;
  std::vector<std::vector<NodeId>> destinations_;  // [N] of each source node, in turn
  std::vector<std::int64_t> rows_;                 // [P]
};

}  // namespace railwave::workload
