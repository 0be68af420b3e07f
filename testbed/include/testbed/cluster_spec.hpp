// What a cluster looks like: the contents of cluster.toml.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <railwave/error.hpp>
#include <railwave/topology.hpp>

namespace railwave::testbed {

/// The shape and the speeds of a cluster. Plain data; validate() says whether it makes sense.
/// Units: rates in bit/s, sizes in bytes.
struct ClusterSpec {
  std::vector<int> ranks_per_node{8, 8, 8, 8};  ///< [N]
  int rails = 8;                                ///< R
  std::vector<std::vector<int>> home_rail{};    ///< [N][G_s]; empty: floor(local * R / G_s)
  /// [N][R] the bridge into which a node's rail is plugged, a permutation of 0..R-1 per node;
  /// empty: rail r into bridge r. chi(s,d) leads from a rail of s to the rail of d on its bridge.
  std::vector<std::vector<int>> bridges{};
  std::vector<std::vector<bool>> live{};  ///< [N][R] false: the node lacks the rail; empty: all
  std::int64_t rate = 50'000'000;         ///< nominal rate of a rail
  std::vector<std::vector<std::int64_t>> rail_rate{};  ///< [N][R]; empty: `rate` everywhere
  std::int64_t buffer = 64 * 1024;                     ///< queue of a switch port
  std::int64_t nic_queue = 4 * 1024 * 1024;            ///< queue of a node's network card
  std::int64_t burst = 12 * 1024;                      ///< token bucket of both
  int mtu = 9000;                                      ///< of the rails
  std::string congestion = "cubic";                    ///< TCP congestion control of the rails
  std::chrono::milliseconds rto_min{5};                ///< least TCP retransmission time

  [[nodiscard]] int nodes() const { return static_cast<int>(ranks_per_node.size()); }
  [[nodiscard]] int ranks() const;
  [[nodiscard]] bool has_rail(NodeId node, RailId rail) const;
  [[nodiscard]] int bridge_of(NodeId node, RailId rail) const;
  [[nodiscard]] std::int64_t rate_of(NodeId node, RailId rail) const;
  friend bool operator==(const ClusterSpec&, const ClusterSpec&) = default;
};

/// What a cluster may be. Planning makes tables of N * N * R entries: with this many nodes and
/// rails chi takes 1 GiB. What can be emulated is less: testbed/emulation_limits.hpp.
inline constexpr int kMostNodes = 2048;
inline constexpr int kMostRails = 64;
inline constexpr int kMostRanksPerNode = 1024;
inline constexpr std::int64_t kLeastRate = 1'000;              ///< bit/s
inline constexpr std::int64_t kMostRate = 10'000'000'000'000;  ///< bit/s

using Ipv4 = std::array<std::uint8_t, 4>;
/// 10.0.0.{node+1}/24: a node's address on the control network, device ctl0.
Ipv4 control_address(NodeId node);
/// 10.{bridge+1}.0.{node+1}/24: rails that share a bridge share a subnet.
Ipv4 rail_address(const ClusterSpec& spec, NodeId node, RailId rail);

/// N nodes of G ranks each with R rails, everything else by default. REQUIRES: nodes >= 0.
ClusterSpec uniform_cluster(int nodes, int ranks_per_node, int rails);

/// The least tbf burst with which a full frame still passes: MTU + 14 and 1 %, since the kernel
/// rounds a burst down to its clock ticks and a bucket below one frame stalls the rail for good.
std::int64_t least_burst(int mtu);

/// Whether it is a cluster that can be described and planned for.
/// Errors: InvalidArgument; the field names the setting, the sentence its value and the remedy.
Status validate(const ClusterSpec& spec);
/// The same of one value. Errors: as validate(); InvalidArgument{rate}.
Status check_rate(std::int64_t rate);

/// "5ms" -> 5. Errors: InvalidArgument naming `field`.
Result<std::int64_t> parse_milliseconds(std::string_view text, std::string_view field);

/// Reads the text of a cluster.toml (docs/formats/cluster.md); `source` is its name in errors.
/// Errors: InvalidArgument "source:line:column: what is wrong".
Result<ClusterSpec> parse_cluster(std::string_view text, std::string_view source);
/// Reads a file. Errors: as parse_cluster; InvalidArgument when it can not be read.
Result<ClusterSpec> read_cluster(const std::string& path);
/// Text from which parse_cluster makes an equal spec. REQUIRES: validate(spec).
std::string format_cluster(const ClusterSpec& spec);

/// On a rank of `railwave emulate`: the cluster it runs in, from RAILWAVE_CLUSTER; nothing when the
/// variable is not set. Errors: InvalidArgument when it is malformed.
Result<std::optional<ClusterSpec>> cluster_from_environment();

/// The same shape for the planner: ranks, rails, home rails, live rails, weights and chi.
Topology::Options topology_options(const ClusterSpec& spec);
/// Bytes/s of a rail of weight 1 in the topology made of topology_options(spec).
double rate_of_weight_one(const ClusterSpec& spec, const Topology& topology);
/// What a bound of bytes over weight may leave out for the token buckets: a bucket over the least
/// weight of a rail, rounded up, so that it stays a lower bound. The bucket where rails are alike.
std::int64_t burst_over_weight(const ClusterSpec& spec, const Topology& topology);

}  // namespace railwave::testbed
