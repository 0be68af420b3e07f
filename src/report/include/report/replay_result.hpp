// The result of one replay: what `railwave replay` prints and writes
// (docs/formats/replay_result.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <railwave/error.hpp>

#include "report/environment.hpp"

namespace railwave::report {

constexpr std::string_view kReplaySchema = "railwave.replay/1";

struct ClusterFacts {
  int nodes = 0;                      ///< N
  std::vector<int> ranks_per_node{};  ///< [N]
  int rails = 0;                      ///< R
  std::int64_t rail_bit_s = 0;        ///< nominal rate of a rail, bits per second
  bool emulated = false;
  std::optional<std::int64_t> switch_buffer_bytes{};
  std::optional<std::int64_t> burst_bytes{};  ///< token bucket of a rail
  std::optional<int> mtu{};
  friend bool operator==(const ClusterFacts&, const ClusterFacts&) = default;
};

struct WorkloadFacts {
  std::string trace{};                     ///< name of the trace without its folder, or "generated"
  std::string routing{};                   ///< "schedule" or "trace"
  std::string schedule{};                  ///< "ring", "moderate", ..., "all-at-once"
  std::optional<std::string> placement{};  ///< "sorted" or "natural", of a schedule
  int layers = 0;
  int experts = 0;
  int top_k = 0;
  std::string dtype{};
  std::int64_t hidden = 0;
  std::int64_t row_bytes = 0;
  std::int64_t rows = 0;                ///< remote rows of a dispatch, all layers together
  std::optional<double> payload_mib{};  ///< B in MiB as asked for
  std::optional<double> rail_skew{};    ///< rho of all layers together
  std::optional<double> receiver_concentration{};  ///< kappa, the largest of a layer
  std::optional<int> fan_in{};                     ///< phi, the largest of a layer
  friend bool operator==(const WorkloadFacts&, const WorkloadFacts&) = default;
};

/// Parts of the time, seconds, summed over layers like p50_s.
struct Breakdown {
  double header_s = 0;  ///< the exchange of headers before each phase
  double plan_s = 0;
  double pack_s = 0;
  double relocate_s = 0;
  double wire_s = 0;
  double reorder_s = 0;
  friend bool operator==(const Breakdown&, const Breakdown&) = default;
};

/// One path, or one peer (Open MPI, gloo) by its name. Fields marked (set) come from the run, those
/// marked (computed) from summarise().
struct PathResult {
  std::string name{};                           ///< (set) "joint", "openmpi", ...
  std::optional<std::string> start{};           ///< (set) start policy; absent for peers
  double p50_s = 0;                             ///< (computed) sum over layers of the quantiles
  std::optional<double> p95_s{};                ///< (computed) from 20 samples a layer on
  std::optional<double> p99_s{};                ///< (computed) from 100 samples a layer on
  std::optional<double> speedup_over_native{};  ///< (computed) p50 of native over this p50
  std::optional<double> bound_s{};              ///< (set) LB1, dispatch + combine, all layers
  std::optional<double> path_bound_s{};         ///< (set)
  std::optional<double> ratio_to_bound{};       ///< (computed) p50_s / bound_s
  std::optional<double> ratio_to_path_bound{};  ///< (computed) p50_s / path_bound_s
  std::int64_t wrong = 0;                       ///< (set) rows that came back wrong
  std::optional<std::string> bits{};            ///< (set) hash of all outputs, 16 hex digits
  std::optional<std::vector<double>>
      rail_share_tx{};  ///< (set) [R] over all nodes and layers, sum 1
  std::optional<std::vector<double>> rail_share_rx{};  ///< (set) [R]
  std::optional<int> max_fan_in{};              ///< (set) most senders at once at a node's rail
  std::optional<std::int64_t> overlap_bytes{};  ///< (set)
  std::optional<Breakdown> breakdown{};         ///< (set)
  std::vector<std::vector<double>> samples{};   ///< (set) [L][samples] seconds
  friend bool operator==(const PathResult&, const PathResult&) = default;
};

/// One trace under one schedule by every path. Threads: a value.
struct ReplayResult {
  ClusterFacts cluster{};
  Environment environment{};
  WorkloadFacts workload{};
  std::vector<PathResult> paths{};
  friend bool operator==(const ReplayResult&, const ReplayResult&) = default;
};

/// Fills every (computed) field from the samples and bounds; what can not be computed is absent.
/// Errors: InvalidArgument{samples} for a path without samples in some layer.
Status summarise(ReplayResult& result);

/// Whether the result may stand: IntegrityError{wrong} for wrong rows, {bits} when two of the four
/// paths gave different bits; Internal{ratio_to_bound} for a time below its bound, which only a
/// faulty measurement gives.
Status verdict(const ReplayResult& result);

/// 0x0123 -> "0000000000000123".
std::string format_bits(std::uint64_t hash);

}  // namespace railwave::report
