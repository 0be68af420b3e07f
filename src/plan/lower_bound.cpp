#include "plan/lower_bound.hpp"

#include <algorithm>

#include "worst_subset.hpp"

namespace railwave::plan {
namespace {

RailSet egress_rails(const Topology& topology, NodePair pair) {
  RailSet set(static_cast<std::size_t>(topology.rails()));
  for (const RailId r : topology.eligible(pair.source, pair.destination)) set.set(r.index());
  return set;
}

RailSet ingress_rails(const Topology& topology, NodePair pair) {
  RailSet set(static_cast<std::size_t>(topology.rails()));
  for (const RailId r : topology.eligible(pair.source, pair.destination)) {
    set.set(topology.ingress(pair.source, pair.destination, r).index());
  }
  return set;
}

std::vector<std::int64_t> weights_of(const Topology& topology, NodeId node) {
  std::vector<std::int64_t> weights;
  for (RailId r(0); r.value < topology.rails(); ++r.value) {
    weights.push_back(topology.weight(node, r));
  }
  return weights;
}

/// A slice alone on all its rails, each as fast as its slower end.
Ratio alone(const Topology& topology, NodePair slice, std::int64_t records) {
  std::int64_t weight = 0;
  for (const RailId rail : topology.eligible(slice.source, slice.destination)) {
    weight += topology.weight(slice, rail);
  }
  return reduced(records, weight);
}

}  // namespace

Ratio bound_records(const Topology& topology, const RailCounts& counts) {
  std::vector<std::pmr::vector<std::int64_t>> demand;  // [N, N]
  for (NodeId s(0); s.value < topology.nodes(); ++s.value) demand.push_back(counts.slices(s));
  Ratio bound;
  for (NodeId node(0); node.value < topology.nodes(); ++node.value) {
    RecordsByRails out;
    RecordsByRails in;
    for (NodeId other(0); other.value < topology.nodes(); ++other.value) {
      const std::int64_t sent = demand[node.index()][other.index()];
      const std::int64_t received = demand[other.index()][node.index()];
      if (node == other) continue;
      if (sent > 0) {
        out[egress_rails(topology, {node, other})] += sent;
        const Ratio slice = alone(topology, {node, other}, sent);
        if (larger(slice, bound)) bound = slice;
      }
      if (received > 0) in[ingress_rails(topology, {other, node})] += received;
    }
    const auto weights = weights_of(topology, node);
    for (const auto* records : {&out, &in}) bound = worst_subset(*records, weights, bound);
  }
  return bound;
}

double bound_seconds(double records, std::int64_t row_bytes, double rail_bytes_per_second,
                     std::int64_t burst_bytes) {
  const double bytes = records * static_cast<double>(row_bytes);
  return std::max(0.0, bytes - static_cast<double>(burst_bytes)) / rail_bytes_per_second;
}

double bound_seconds(Ratio records, std::int64_t row_bytes, double rail_bytes_per_second,
                     std::int64_t burst_bytes) {
  return bound_seconds(records.value(), row_bytes, rail_bytes_per_second, burst_bytes);
}

}  // namespace railwave::plan
