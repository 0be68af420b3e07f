#include "cluster_report.hpp"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/units.hpp"

namespace railwave::cli {
namespace {

std::string node_line(const testbed::ClusterSpec& spec, NodeId node) {
  std::vector<std::string> rails;
  for (int r = 0; r < spec.rails; ++r) {
    const RailId rail(r);
    if (!spec.has_rail(node, rail)) {
      rails.emplace_back("-");
      continue;
    }
    auto text = fmt::format("rail{}", r);
    if (spec.bridge_of(node, rail) != r) text += fmt::format(">{}", spec.bridge_of(node, rail));
    if (spec.rate_of(node, rail) != spec.rate) {
      text += fmt::format("({})", format_rate(spec.rate_of(node, rail)));
    }
    rails.push_back(text);
  }
  return fmt::format("#   node{}: {} ranks, {}\n", node.value, spec.ranks_per_node[node.index()],
                     fmt::join(rails, " "));
}

}  // namespace

bool is_uneven(const testbed::ClusterSpec& spec) {
  for (int n = 0; n < spec.nodes(); ++n) {
    const NodeId node(n);
    if (spec.ranks_per_node[node.index()] != spec.ranks_per_node.front()) return true;
    for (int r = 0; r < spec.rails; ++r) {
      const RailId rail(r);
      if (!spec.has_rail(node, rail) || spec.bridge_of(node, rail) != r) return true;
      if (spec.rate_of(node, rail) != spec.rate) return true;
    }
  }
  return false;
}

std::string nodes_text(const testbed::ClusterSpec& spec, int most) {
  std::string out;
  const int shown = std::min(most, spec.nodes());
  for (int n = 0; n < shown; ++n) out += node_line(spec, NodeId(n));
  if (shown < spec.nodes()) out += fmt::format("#   and {} more nodes\n", spec.nodes() - shown);
  return out;
}

std::string topology_text(const testbed::ClusterSpec& spec) {
  const std::string out = fmt::format(
      "# emulated cluster: {} nodes, {} ranks, {} rails at {}\n"
      "# MTU {}, switch buffer {}, NIC queue {}, burst {}, TCP {}, least retransmission time {} "
      "ms, no slow start after idle\n",
      spec.nodes(), spec.ranks(), spec.rails, format_rate(spec.rate), spec.mtu,
      format_size(spec.buffer), format_size(spec.nic_queue), format_size(spec.burst),
      spec.congestion, spec.rto_min.count());
  return out + nodes_text(spec, spec.nodes());
}

std::string counters_table(const testbed::Counters& counters) {
  std::string out = fmt::format("# {:>4} {:>4} {:>14} {:>14} {:>10} {:>10}\n", "node", "rail",
                                "tx bytes", "rx bytes", "NIC drops", "port drops");
  for (std::size_t n = 0; n < counters.rails.size(); ++n) {
    for (std::size_t r = 0; r < counters.rails[n].size(); ++r) {
      const auto& rail = counters.rails[n][r];
      out += fmt::format("  {:>4} {:>4} {:>14} {:>14} {:>10} {:>10}\n", n, r, rail.tx_bytes,
                         rail.rx_bytes, rail.nic_drops, rail.port_drops);
    }
  }
  out += fmt::format("# TCP segments sent again, by node: {}\n",
                     fmt::join(counters.tcp_retransmissions, " "));
  return out;
}

std::string losses_line(const testbed::Counters& counters) {
  std::int64_t ports = 0;
  std::int64_t cards = 0;
  for (const auto& node : counters.rails) {
    for (const auto& rail : node) {
      ports += rail.port_drops;
      cards += rail.nic_drops;
    }
  }
  return fmt::format(
      "# network: {} frames lost at switch ports, {} at network cards; TCP segments sent again, by "
      "node: {}\n",
      ports, cards, fmt::join(counters.tcp_retransmissions, " "));
}

}  // namespace railwave::cli
