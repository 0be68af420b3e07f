#include "network_flows.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace railwave::cli {
namespace {

/// Adds one flow on every rail from `source` to `destination`.
void add_pair(NetworkPattern& out, const Topology& topology, NodePair nodes, bool by_ingress) {
  for (const RailId egress : topology.eligible(nodes.source, nodes.destination)) {
    const RailId ingress = topology.ingress(nodes.source, nodes.destination, egress);
    const int rail = by_ingress ? ingress.value : egress.value;
    auto line = std::ranges::find(out.lines, rail, &NetworkLine::rail);
    if (line == out.lines.end()) line = out.lines.insert(line, NetworkLine{rail, {}, 0, 0});
    out.flows.push_back(
        {nodes, egress, ingress, static_cast<std::size_t>(line - out.lines.begin())});
  }
}

/// Senders and nominal rate of every line: a receiver gets no more than its own rail or all its
/// senders' together.
void complete(NetworkPattern& out, const testbed::ClusterSpec& spec) {
  for (std::size_t l = 0; l < out.lines.size(); ++l) {
    std::map<std::pair<NodeId, RailId>, std::pair<std::int64_t, int>> offered;
    for (const NetworkFlow& flow : out.flows) {
      if (flow.line != l) continue;
      auto& [rate, senders] = offered[{flow.nodes.destination, flow.ingress}];
      rate += spec.rate_of(flow.nodes.source, flow.egress);
      ++senders;
    }
    NetworkLine& line = out.lines[l];
    for (const auto& [receiver, from] : offered) {
      const auto rate = std::min(from.first, spec.rate_of(receiver.first, receiver.second));
      line.nominal_bit_s = line.senders == 0 ? rate : std::min(line.nominal_bit_s, rate);
      line.senders = std::max(line.senders, from.second);
    }
  }
}

std::string route_of(const NetworkPattern& pattern, std::size_t line) {
  std::vector<int> sources;
  int destination = 0;
  for (const NetworkFlow& flow : pattern.flows) {
    if (flow.line != line) continue;
    sources.push_back(flow.nodes.source.value);
    destination = flow.nodes.destination.value;
  }
  std::ranges::sort(sources);
  return fmt::format("{}>{}", fmt::join(sources, ","), destination);
}

}  // namespace

NetworkPattern network_pattern(const BenchOptions& o, const testbed::ClusterSpec& spec,
                               const Topology& topology) {
  const int nodes = topology.nodes();
  NetworkPattern out;
  const NodeId sender(o.sender);
  const NodeId receiver(o.receiver);
  if (o.operation == "p2p") {
    out.in_turn = true;
    add_pair(out, topology, {sender, receiver}, false);
  } else {
    const bool incast = o.operation == "incast";
    for (int n = 0; n < nodes; ++n) {
      const NodeId source(n);
      const NodeId next((n + 1) % nodes);
      if (incast && source == receiver) continue;
      add_pair(out, topology, {source, incast ? receiver : next}, incast);
    }
  }
  complete(out, spec);
  for (std::size_t l = 0; l < out.lines.size(); ++l) {
    out.lines[l].route = o.operation == "permute" ? "all" : route_of(out, l);
  }
  return out;
}

}  // namespace railwave::cli
