#include "network.hpp"

#include <fmt/format.h>

#include "base/fail.hpp"
#include "testbed/emulation_limits.hpp"

namespace railwave::testbed {
namespace {

constexpr int kControlMtu = 1500;
/// Beyond this many neighbour entries the nodes find each other by ARP, as any cluster does.
constexpr std::int64_t kMostNeighbours = 20'000;

std::uint8_t byte(int value) { return static_cast<std::uint8_t>(value); }

/// Locally administered; plane 0 is the control network, plane r + 1 rail r.
MacAddress mac_address(NodeId node, int plane) {
  return {0x02, 0x72, 0x77, 0, byte(plane), byte(node.value + 1)};
}

Status quiet_ipv6() {
  // A kernel without IPv6 has nothing to turn off.
  (void)write_sysctl("net/ipv6/conf/all/disable_ipv6", "1");
  (void)write_sysctl("net/ipv6/conf/default/disable_ipv6", "1");
  return {};
}

}  // namespace

Network::Network(ClusterSpec spec, NamespaceSet own, Netlink netlink)
    : spec_(std::move(spec)), own_(std::move(own)), netlink_(std::move(netlink)) {}

Result<Network> Network::build(const ClusterSpec& spec) {
  auto own = current_namespaces();
  if (!own) return fail(own.error());
  auto netlink = Netlink::open();
  if (!netlink) return fail(netlink.error());
  Network network(spec, *std::move(own), *std::move(netlink));
  RAILWAVE_TRY(network.add_bridges());
  for (int n = 0; n < spec.nodes(); ++n) RAILWAVE_TRY(network.add_node(NodeId(n)));
  return network;
}

Status Network::add_bridges() {
  RAILWAVE_TRY(quiet_ipv6());
  auto control = netlink_.add_bridge("control", kControlMtu);
  if (!control) return fail(control.error());
  control_bridge_ = *control;
  for (int b = 0; b < spec_.rails; ++b) {
    auto bridge = netlink_.add_bridge(fmt::format("bridge{}", b), spec_.mtu);
    if (!bridge) return fail(bridge.error());
    bridges_.push_back(*bridge);
  }
  return {};
}

Status Network::add_node(NodeId node) {
  const auto built = [&]() -> Status {
    RAILWAVE_TRY(enter_new_node(node));
    RAILWAVE_TRY(plug_in_control(node));
    for (int r = 0; r < spec_.rails; ++r) RAILWAVE_TRY(plug_in_rail(node, RailId(r)));
    return add_neighbours(node);
  }();
  RAILWAVE_TRY(enter(own_));
  return built;
}

/// Ends inside the node.
Status Network::enter_new_node(NodeId node) {
  auto inside = create_node(fmt::format("node{}", node.value));
  if (!inside) return fail(inside.error());
  auto netlink = Netlink::open();
  if (!netlink) return fail(netlink.error());
  auto loopback = netlink->index_of("lo");
  if (!loopback) return fail(loopback.error());
  RAILWAVE_TRY(netlink->set_up(*loopback, true));
  RAILWAVE_TRY(quiet_ipv6());
  RAILWAVE_TRY(write_sysctl("net/ipv4/tcp_slow_start_after_idle", "0"));
  nodes_.push_back({*std::move(inside), *std::move(netlink), 0,
                    std::vector<Plug>(static_cast<std::size_t>(spec_.rails))});
  return {};
}

Status Network::plug_in_control(NodeId node) {
  auto& at = nodes_[node.index()];
  const std::string port = fmt::format("p{}c", node.value);
  RAILWAVE_TRY(netlink_.add_veth(
      {port, control_bridge_, "ctl0", mac_address(node, 0), at.inside.network.get(), kControlMtu}));
  auto index = netlink_.index_of(port);
  if (!index) return fail(index.error());
  at.control_port = *index;
  auto device = at.netlink.index_of("ctl0");
  if (!device) return fail(device.error());
  RAILWAVE_TRY(at.netlink.add_address(*device, control_address(node), true));
  return at.netlink.set_up(*device, true);
}

Status Network::plug_in_rail(NodeId node, RailId rail) {
  if (!spec_.has_rail(node, rail)) return {};
  auto& at = nodes_[node.index()];
  auto& plug = at.rails[rail.index()];
  const std::string port = fmt::format("p{}r{}", node.value, rail.value);
  const auto bridge = static_cast<std::size_t>(spec_.bridge_of(node, rail));
  RAILWAVE_TRY(
      netlink_.add_veth({port, bridges_[bridge], fmt::format("rail{}", rail.value),
                         mac_address(node, rail.value + 1), at.inside.network.get(), spec_.mtu}));
  auto index = netlink_.index_of(port);
  if (!index) return fail(index.error());
  plug.port = *index;
  plug.rate = spec_.rate_of(node, rail);
  RAILWAVE_TRY(configure_rail(node, rail));
  RAILWAVE_TRY(enter_network(own_));
  auto offloads = turn_offloads_off(port);
  RAILWAVE_TRY(enter_network(at.inside));
  return offloads;
}

Status Network::configure_rail(NodeId node, RailId rail) {
  auto& at = nodes_[node.index()];
  const std::string name = fmt::format("rail{}", rail.value);
  auto device = at.netlink.index_of(name);
  if (!device) return fail(device.error());
  at.rails[rail.index()].device = *device;
  RAILWAVE_TRY(turn_offloads_off(name));
  RAILWAVE_TRY(shape(node, rail));
  const Ipv4 own = rail_address(spec_, node, rail);
  RAILWAVE_TRY(at.netlink.add_address(*device, own, false));
  RAILWAVE_TRY(at.netlink.set_up(*device, true));
  return at.netlink.add_route(
      *device, {own, spec_.congestion, static_cast<std::uint32_t>(spec_.rto_min.count())});
}

/// Known neighbours keep address resolution out of the measurements and let a rail be cut in one
/// direction only.
Status Network::add_neighbours(NodeId node) {
  const std::int64_t nodes = spec_.nodes();
  if (nodes * nodes * spec_.rails > kMostNeighbours) return {};
  auto& at = nodes_[node.index()];
  for (int d = 0; d < spec_.nodes(); ++d) {
    const NodeId other(d);
    for (int r = 0; r < spec_.rails && other != node; ++r) {
      for (int i = 0; i < spec_.rails; ++i) {
        const bool same_bridge =
            spec_.bridge_of(node, RailId(r)) == spec_.bridge_of(other, RailId(i));
        const int device = at.rails[RailId(r).index()].device;
        if (!same_bridge || device == 0 || !spec_.has_rail(other, RailId(i))) continue;
        RAILWAVE_TRY(at.netlink.add_neighbour(device, rail_address(spec_, other, RailId(i)),
                                              mac_address(other, i + 1)));
      }
    }
  }
  return {};
}

Status Network::shape(NodeId node, RailId rail) {
  // Below any frame: every frame is too big for the bucket and is dropped.
  constexpr std::int64_t kCutBurst = 30;
  auto& at = nodes_[node.index()];
  const auto& plug = at.rails[rail.index()];
  const auto burst = [&](bool cut) { return cut ? kCutBurst : spec_.burst; };
  RAILWAVE_TRY(
      at.netlink.set_tbf(plug.device, {plug.rate, burst(plug.cut_egress), spec_.nic_queue}));
  return netlink_.set_tbf(plug.port, {plug.rate, burst(plug.cut_ingress), spec_.buffer});
}

Result<Network::Plug*> Network::plug(NodeId node, RailId rail) {
  const bool known = node.value >= 0 && node.value < spec_.nodes() && rail.value >= 0 &&
                     rail.value < spec_.rails && spec_.has_rail(node, rail);
  if (!known) {
    return fail(ErrorCode::InvalidArgument, "rail",
                fmt::format("node {} has no rail {}", node.value, rail.value));
  }
  return &nodes_[node.index()].rails[rail.index()];
}

Status Network::set_rail_up(NodeId node, RailId rail, bool up) {
  const auto at = plug(node, rail);
  if (!at) return fail(at.error());
  return netlink_.set_up((*at)->port, up);
}

Status Network::set_rail_rate(NodeId node, RailId rail, std::int64_t rate) {
  const auto at = plug(node, rail);
  if (!at) return fail(at.error());
  auto changed = spec_;
  changed.rate = rate;
  changed.rail_rate.clear();
  RAILWAVE_TRY(validate(changed));
  RAILWAVE_TRY(check_emulation(changed));
  (*at)->rate = rate;
  return shape(node, rail);
}

Status Network::set_rail_cut(NodeId node, RailId rail, Direction direction, bool cut) {
  const auto at = plug(node, rail);
  if (!at) return fail(at.error());
  (direction == Direction::egress ? (*at)->cut_egress : (*at)->cut_ingress) = cut;
  return shape(node, rail);
}

Status Network::set_node_up(NodeId node, bool up) {
  if (node.value < 0 || node.value >= spec_.nodes()) {
    return fail(ErrorCode::InvalidArgument, "node", fmt::format("there is no node {}", node.value));
  }
  const auto& at = nodes_[node.index()];
  for (const auto& plug : at.rails) {
    if (plug.port != 0) RAILWAVE_TRY(netlink_.set_up(plug.port, up));
  }
  return netlink_.set_up(at.control_port, up);
}

}  // namespace railwave::testbed
