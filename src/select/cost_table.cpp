#include "select/cost_table.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/fail.hpp"

namespace railwave::select {
namespace {

constexpr std::int64_t kMostShape = 1'000'000;                  // rho, kappa and divisors
constexpr std::int64_t kLeastDivisor = Decimal::kUnit / 1'000;  // keeps coordinates within 10^9
constexpr std::int64_t kMostFactor = 4;
constexpr std::int64_t kMostBytes = 1'000'000'000'000;

tl::unexpected<Error> refuse(const std::string& pointer, const std::string& sentence) {
  return fail(ErrorCode::InvalidArgument, pointer, sentence);
}

/// `least` and `most` in millionths.
Status in_range(const std::string& pointer, const Decimal& value, std::int64_t least,
                std::int64_t most) {
  if (value.millionths() >= least && value.millionths() <= most) return {};
  const auto number = [](std::int64_t millionths) {
    return millionths % Decimal::kUnit == 0
               ? fmt::format("{}", millionths / Decimal::kUnit)
               : fmt::format("{}", static_cast<double>(millionths) / Decimal::kUnit);
  };
  return refuse(
      pointer, fmt::format("expected {} to {}, not {}", number(least), number(most), value.text()));
}

std::int64_t most_payload(PayloadUnit unit) { return kMostBytes / bytes_of(unit) * Decimal::kUnit; }

Status check_shape_of(const ClusterShape& cluster) {
  if (cluster.ranks_per_node.empty() || cluster.ranks_per_node.size() > kMostNodes) {
    return refuse(
        "/cluster/ranks_per_node",
        fmt::format("expected 1 to {} nodes, not {}", kMostNodes, cluster.ranks_per_node.size()));
  }
  for (std::size_t n = 0; n < cluster.ranks_per_node.size(); ++n) {
    if (cluster.ranks_per_node[n] >= 1) continue;
    return refuse(fmt::format("/cluster/ranks_per_node/{}", n),
                  fmt::format("expected at least 1 rank, not {}", cluster.ranks_per_node[n]));
  }
  if (cluster.rails >= 1) return {};
  return refuse("/cluster/rails", fmt::format("expected at least 1 rail, not {}", cluster.rails));
}

Status check_scales(const CostTable& table) {
  constexpr std::int64_t unit = Decimal::kUnit;
  const Scales& scales = table.scales;
  RAILWAVE_TRY(
      in_range("/scales/payload_reference", scales.payload_reference, 1, most_payload(table.unit)));
  RAILWAVE_TRY(in_range("/scales/payload_factor", scales.payload_factor, unit, kMostFactor * unit));
  const bool no_skew = table.cluster.rails == 1 && scales.rail_skew_divisor.millionths() == 0;
  if (!no_skew) {
    RAILWAVE_TRY(in_range("/scales/rail_skew_divisor", scales.rail_skew_divisor, kLeastDivisor,
                          kMostShape * unit));
  }
  RAILWAVE_TRY(in_range("/scales/receiver_concentration_divisor",
                        scales.receiver_concentration_divisor, kLeastDivisor, kMostShape * unit));
  return in_range("/scales/shape_radius", scales.shape_radius, 0, unit);
}

Status check_path(const std::string& pointer, Path path) {
  if (is_candidate(path)) return {};
  return refuse(pointer, fmt::format("expected {}, not {}", kCandidates, to_string(path)));
}

Status check_times(const std::string& pointer, const std::vector<PathTimes>& all) {
  std::map<Path, int> seen;
  for (const PathTimes& times : all) {
    const std::string place = fmt::format("{}/times/{}", pointer, to_string(times.path));
    RAILWAVE_TRY(check_path(place, times.path));
    if (++seen[times.path] > 1) return refuse(place, "the path is there twice");
    if (times.samples < 1) {
      return refuse(place, fmt::format("expected 1 sample or more, not {}", times.samples));
    }
    const bool finite = std::isfinite(times.p10) && std::isfinite(times.p90);
    if (!finite || times.p10 < 0 || !(times.p10 <= times.p50 && times.p50 <= times.p90)) {
      return refuse(place, fmt::format("expected 0 <= p10 <= p50 <= p90, not {}, {}, {}", times.p10,
                                       times.p50, times.p90));
    }
  }
  return {};
}

Status check_point(const std::string& pointer, const TrafficPoint& at, PayloadUnit unit) {
  RAILWAVE_TRY(in_range(pointer + "/payload", at.payload, 1, most_payload(unit)));
  constexpr std::int64_t one = Decimal::kUnit;
  RAILWAVE_TRY(in_range(pointer + "/rail_skew", at.rail_skew, one, kMostShape * one));
  return in_range(pointer + "/receiver_concentration", at.receiver_concentration, one,
                  kMostShape * one);
}

Status check_number(const char* pointer, std::size_t points) {
  if (points <= kMostPoints) return {};
  return refuse(pointer, fmt::format("expected at most {} points, not {}", kMostPoints, points));
}

Status check_anchors(const CostTable& table) {
  RAILWAVE_TRY(check_number("/anchors", table.anchors.size()));
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, std::size_t> first;
  for (std::size_t i = 0; i < table.anchors.size(); ++i) {
    const std::string pointer = fmt::format("/anchors/{}", i);
    const TrafficPoint& at = table.anchors[i].at;
    RAILWAVE_TRY(check_point(pointer, at, table.unit));
    RAILWAVE_TRY(check_path(pointer + "/path", table.anchors[i].path));
    RAILWAVE_TRY(check_times(pointer, table.anchors[i].times));
    const auto [other, fresh] =
        first.try_emplace({at.payload.millionths(), at.rail_skew.millionths(),
                           at.receiver_concentration.millionths()},
                          i);
    if (!fresh) {
      return refuse(pointer, fmt::format("is at the same point as /anchors/{}; keep one of them",
                                         other->second));
    }
  }
  return {};
}

Status check_rejected(const CostTable& table) {
  RAILWAVE_TRY(check_number("/rejected", table.rejected.size()));
  for (std::size_t i = 0; i < table.rejected.size(); ++i) {
    const std::string pointer = fmt::format("/rejected/{}", i);
    RAILWAVE_TRY(check_point(pointer, table.rejected[i].at, table.unit));
    RAILWAVE_TRY(check_path(pointer + "/candidate", table.rejected[i].candidate));
    RAILWAVE_TRY(check_times(pointer, table.rejected[i].times));
  }
  return {};
}

}  // namespace

ClusterShape ClusterShape::of(const Topology& topology) {
  ClusterShape shape{{}, topology.rails()};
  for (int n = 0; n < topology.nodes(); ++n) {
    shape.ranks_per_node.push_back(topology.ranks_at(NodeId(n)));
  }
  return shape;
}

Status check(const CostTable& table) {
  RAILWAVE_TRY(check_shape_of(table.cluster));
  RAILWAVE_TRY(check_scales(table));
  RAILWAVE_TRY(check_anchors(table));
  return check_rejected(table);
}

Status check_shape(const CostTable& table, const ClusterShape& cluster) {
  if (table.cluster == cluster) return {};
  return fail(ErrorCode::InvalidArgument, "cluster",
              fmt::format("the cost table was made for {}, this cluster has {}; calibrate here, or "
                          "force its use",
                          to_string(table.cluster), to_string(cluster)));
}

std::string to_string(const ClusterShape& cluster) {
  const auto& ranks = cluster.ranks_per_node;
  const auto plural = [](auto count, const char* noun) {
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
  };
  const bool even = std::all_of(ranks.begin(), ranks.end(), [&](int r) { return r == ranks[0]; });
  return fmt::format("{} of {}, {}", plural(ranks.size(), "node"),
                     even && !ranks.empty() ? plural(ranks[0], "rank")
                                            : fmt::format("{} ranks", fmt::join(ranks, ", ")),
                     plural(cluster.rails, "rail"));
}

}  // namespace railwave::select
