// What was measured about the paths on one cluster, and where a measurement may be reused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <railwave/error.hpp>
#include <railwave/path.hpp>
#include <railwave/topology.hpp>

#include "select/decimal.hpp"

namespace railwave::select {

/// The shape of the cluster for which a table holds.
struct ClusterShape {
  std::vector<int> ranks_per_node;  ///< [N]
  int rails = 1;                    ///< R
  static ClusterShape of(const Topology& topology);
  friend bool operator==(const ClusterShape&, const ClusterShape&) = default;
};

/// The unit of every payload of a table.
enum class PayloadUnit : std::uint8_t { Byte = 0, MiB = 1 };
constexpr std::string_view to_string(PayloadUnit unit) {
  return unit == PayloadUnit::Byte ? "B" : "MiB";
}
constexpr std::int64_t bytes_of(PayloadUnit unit) {
  return unit == PayloadUnit::Byte ? 1 : 1 << 20;
}

/// How a phase becomes a point: x = (log2(B / payload_reference), (rho - 1) / rail_skew_divisor,
/// (kappa - 1) / receiver_concentration_divisor), and how far from an anchor it may lie.
/// Source: App. A.3, eq. 11.
struct Scales {
  Decimal payload_reference;               ///< B_ref in the table's unit, above 0
  Decimal payload_factor;                  ///< 1 to 4; B within this factor of the anchor's
  Decimal rail_skew_divisor;               ///< R - 1, at least 0.001; 0 only with one rail
  Decimal receiver_concentration_divisor;  ///< at least 0.001
  Decimal shape_radius;                    ///< 0 to 1; of both shape coordinates
  friend bool operator==(const Scales&, const Scales&) = default;
};

/// Where in the space of descriptors a measurement lies.
struct TrafficPoint {
  Decimal payload;    ///< B per rank, in the table's unit, above 0, at most 10^12 bytes
  Decimal rail_skew;  ///< rho, 1 to 10^6
  Decimal receiver_concentration;  ///< kappa, 1 to 10^6
  friend bool operator==(const TrafficPoint&, const TrafficPoint&) = default;
};

/// A path that can be chosen; the planners of others are only compared with.
constexpr bool is_candidate(Path path) {
  for (const Path candidate : kAllPaths) {
    if (candidate == path) return true;
  }
  return false;
}

inline constexpr std::string_view kCandidates = "native, rail_only, permutation_only or joint";

/// Times of one path at one point, in seconds: dispatch + combine.
struct PathTimes {
  Path path = Path::Joint;
  std::int64_t samples = 0;  ///< at least 1
  double p10 = 0;
  double p50 = 0;
  double p90 = 0;
  friend bool operator==(const PathTimes&, const PathTimes&) = default;
};

/// A point at which a path has won.
struct Anchor {
  TrafficPoint at;
  Path path = Path::Joint;
  std::vector<PathTimes> times{};  ///< empty when not published; each path at most once
  std::string note{};              ///< empty: none
  friend bool operator==(const Anchor&, const Anchor&) = default;
};

/// A point whose measurement was not accepted as an anchor.
struct RejectedPoint {
  TrafficPoint at;
  Path candidate = Path::Joint;  ///< the path that would have won
  std::string reason;            ///< one sentence
  std::vector<PathTimes> times{};
  friend bool operator==(const RejectedPoint&, const RejectedPoint&) = default;
};

/// A cost table (docs/formats/cost_table.md). Threads: an immutable value once filled.
struct CostTable {
  ClusterShape cluster;
  PayloadUnit unit = PayloadUnit::MiB;
  Scales scales;
  std::string where;            ///< the machines and the network on which it was measured
  std::string how;              ///< what was timed, how often
  std::vector<Anchor> anchors;  ///< at most kMostPoints, no two at the same point
  std::vector<RejectedPoint> rejected{};
  friend bool operator==(const CostTable&, const CostTable&) = default;
};

inline constexpr int kMostPoints = 20'000;  ///< anchors, and rejected points, of one table
inline constexpr int kMostNodes = 65'536;

/// Errors: InvalidArgument; the field is the JSON pointer of the value out of range, of a path that
/// is no candidate, of the quantiles out of order, or of the second of two anchors at one point.
Status check(const CostTable& table);

/// Whether `table` was made for a cluster like `cluster`.
/// Errors: InvalidArgument{cluster} saying both shapes.
Status check_shape(const CostTable& table, const ClusterShape& cluster);

/// "4 nodes of 8 ranks, 8 rails".
std::string to_string(const ClusterShape& cluster);

}  // namespace railwave::select
