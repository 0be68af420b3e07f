#include "testbed/cluster_spec.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "base/units.hpp"

namespace railwave::testbed {
namespace {

constexpr std::int64_t kMostQueue = 1'000'000'000;

tl::unexpected<Error> invalid(std::string field, std::string message) {
  return fail(ErrorCode::InvalidArgument, std::move(field), std::move(message));
}

Status in_range(std::string_view field, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value >= least && value <= most) return {};
  return invalid(std::string(field),
                 fmt::format("{} is not between {} and {}", value, least, most));
}

template <class T>
Status has_shape(std::string_view field, const std::vector<std::vector<T>>& rows,
                 const std::vector<int>& lengths) {
  if (rows.empty()) return {};
  if (rows.size() != lengths.size()) {
    return invalid(std::string(field),
                   fmt::format("has {} rows, but there are {} nodes", rows.size(), lengths.size()));
  }
  for (std::size_t n = 0; n < rows.size(); ++n) {
    if (rows[n].size() != static_cast<std::size_t>(lengths[n])) {
      return invalid(std::string(field), fmt::format("node {} has {} entries instead of {}", n,
                                                     rows[n].size(), lengths[n]));
    }
  }
  return {};
}

Status check_shape(const ClusterSpec& spec) {
  RAILWAVE_TRY(in_range("nodes", spec.nodes(), 1, kMostNodes));
  RAILWAVE_TRY(in_range("rails", spec.rails, 1, kMostRails));
  for (const int ranks : spec.ranks_per_node) {
    RAILWAVE_TRY(in_range("ranks_per_node", ranks, 1, kMostRanksPerNode));
  }
  const std::vector<int> per_rail(spec.ranks_per_node.size(), spec.rails);
  RAILWAVE_TRY(has_shape("home_rail", spec.home_rail, spec.ranks_per_node));
  RAILWAVE_TRY(has_shape("bridges", spec.bridges, per_rail));
  RAILWAVE_TRY(has_shape("missing_rails", spec.live, per_rail));
  return has_shape("rail_rate", spec.rail_rate, per_rail);
}

Status check_maps(const ClusterSpec& spec) {
  for (const auto& row : spec.home_rail) {
    for (const int rail : row) RAILWAVE_TRY(in_range("home_rail", rail, 0, spec.rails - 1));
  }
  std::vector<int> identity(static_cast<std::size_t>(spec.rails));
  std::iota(identity.begin(), identity.end(), 0);
  for (std::size_t n = 0; n < spec.bridges.size(); ++n) {
    if (!std::is_permutation(spec.bridges[n].begin(), spec.bridges[n].end(), identity.begin(),
                             identity.end())) {
      return invalid("bridges", fmt::format("node {} must name each bridge 0..{} exactly once", n,
                                            spec.rails - 1));
    }
  }
  return {};
}

Status check_rail_rates(const ClusterSpec& spec) {
  for (std::size_t n = 0; n < spec.rail_rate.size(); ++n) {
    for (std::size_t r = 0; r < spec.rail_rate[n].size(); ++r) {
      if (auto valid = check_rate(spec.rail_rate[n][r]); !valid) {
        return invalid("rail_rate",
                       fmt::format("node {}, rail {}: {}", n, r, valid.error().message));
      }
    }
  }
  return {};
}

Status check_speeds(const ClusterSpec& spec) {
  RAILWAVE_TRY(check_rate(spec.rate));
  RAILWAVE_TRY(check_rail_rates(spec));
  RAILWAVE_TRY(in_range("mtu", spec.mtu, 576, 65'000));
  const auto frame = least_burst(spec.mtu);
  if (spec.burst < frame) {
    return invalid("burst", fmt::format("{} bytes is less than a frame at MTU {}, which would "
                                        "stall every rail; give at least {}b",
                                        spec.burst, spec.mtu, frame));
  }
  RAILWAVE_TRY(in_range("burst", spec.burst, frame, kMostQueue));
  RAILWAVE_TRY(in_range("buffer", spec.buffer, frame, kMostQueue));
  RAILWAVE_TRY(in_range("nic_queue", spec.nic_queue, frame, kMostQueue));
  return in_range("rto_min", spec.rto_min.count(), 1, 60'000);
}

std::uint8_t byte(int value) { return static_cast<std::uint8_t>(value); }

}  // namespace

int ClusterSpec::ranks() const {
  return std::accumulate(ranks_per_node.begin(), ranks_per_node.end(), 0);
}

bool ClusterSpec::has_rail(NodeId node, RailId rail) const {
  return live.empty() || live[node.index()][rail.index()];
}

int ClusterSpec::bridge_of(NodeId node, RailId rail) const {
  return bridges.empty() ? rail.value : bridges[node.index()][rail.index()];
}

std::int64_t ClusterSpec::rate_of(NodeId node, RailId rail) const {
  return rail_rate.empty() ? rate : rail_rate[node.index()][rail.index()];
}

Ipv4 control_address(NodeId node) { return {10, 0, 0, byte(node.value + 1)}; }

Ipv4 rail_address(const ClusterSpec& spec, NodeId node, RailId rail) {
  return {10, byte(spec.bridge_of(node, rail) + 1), 0, byte(node.value + 1)};
}

ClusterSpec uniform_cluster(int nodes, int ranks_per_node, int rails) {
  RAILWAVE_CHECK(nodes >= 0, "%d nodes", nodes);
  ClusterSpec spec;
  spec.ranks_per_node.assign(static_cast<std::size_t>(nodes), ranks_per_node);
  spec.rails = rails;
  return spec;
}

std::int64_t least_burst(int mtu) {
  const std::int64_t frame = mtu + 14;
  return frame + (frame + 99) / 100;
}

Status check_rate(std::int64_t rate) {
  if (rate >= kLeastRate && rate <= kMostRate) return {};
  return invalid("rate", fmt::format("{} bit/s is not between {} and {}", rate,
                                     format_rate(kLeastRate), format_rate(kMostRate)));
}

Status validate(const ClusterSpec& spec) {
  RAILWAVE_TRY(check_shape(spec));
  RAILWAVE_TRY(check_maps(spec));
  RAILWAVE_TRY(check_speeds(spec));
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz0123456789_-";
  if (spec.congestion.empty() || spec.congestion.size() > 15 ||
      spec.congestion.find_first_not_of(kLetters) != std::string::npos) {
    return invalid("congestion", fmt::format("'{}' is no name of a TCP congestion control; "
                                             "write it like cubic",
                                             spec.congestion));
  }
  return {};
}

Topology::Options topology_options(const ClusterSpec& spec) {
  Topology::Options options{spec.ranks_per_node, spec.rails, spec.home_rail, spec.live, {}, {}};
  options.weights = spec.rail_rate;
  if (spec.bridges.empty()) return options;
  const auto nodes = static_cast<std::size_t>(spec.nodes());
  const auto rails = static_cast<std::size_t>(spec.rails);
  options.ingress.assign(nodes, std::vector<std::vector<int>>(nodes, std::vector<int>(rails)));
  for (std::size_t s = 0; s < nodes; ++s) {
    for (std::size_t d = 0; d < nodes; ++d) {
      for (std::size_t egress = 0; egress < rails; ++egress) {
        const auto& plugs = spec.bridges[d];
        const auto ingress = std::find(plugs.begin(), plugs.end(), spec.bridges[s][egress]);
        options.ingress[s][d][egress] = static_cast<int>(ingress - plugs.begin());
      }
    }
  }
  return options;
}

double rate_of_weight_one(const ClusterSpec& spec, const Topology& topology) {
  const NodeId node(0);
  const RailId rail(0);
  return static_cast<double>(spec.rate_of(node, rail)) / 8 /
         static_cast<double>(topology.weight(node, rail));
}

std::int64_t burst_over_weight(const ClusterSpec& spec, const Topology& topology) {
  std::int64_t least = topology.weight(NodeId(0), RailId(0));
  for (int n = 0; n < topology.nodes(); ++n) {
    for (int r = 0; r < topology.rails(); ++r) {
      least = std::min(least, topology.weight(NodeId(n), RailId(r)));
    }
  }
  return ceil_div(spec.burst, least);
}

}  // namespace railwave::testbed
