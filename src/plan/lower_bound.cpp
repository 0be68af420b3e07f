#include "plan/lower_bound.hpp"

#include <algorithm>
#include <numeric>
#include <set>

#include "base/checked.hpp"

namespace railwave::plan {
namespace {

using RailSet = std::vector<bool>;  // [R]

/// Records of one node, in one direction, that can only use `rails` of that node.
struct Demand {
  RailSet rails;
  std::int64_t records = 0;
};

bool larger(const Ratio& a, const Ratio& b) {
  return static_cast<__int128>(a.num) * b.den > static_cast<__int128>(b.num) * a.den;
}

Ratio reduced(std::int64_t num, std::int64_t den) {
  const std::int64_t common = std::gcd(num, den);
  return Ratio{num / common, den / common};
}

bool within(const RailSet& inner, const RailSet& outer) {
  for (std::size_t r = 0; r < inner.size(); ++r) {
    if (inner[r] && !outer[r]) return false;
  }
  return true;
}

RailSet joined(RailSet a, const RailSet& b) {
  for (std::size_t r = 0; r < b.size(); ++r) a[r] = a[r] || b[r];
  return a;
}

/// Only unions of the sets at hand can be the best A: any other A shrinks to the union of what lies
/// in it. The sets are a node's live rails less a few, so their unions are few as well.
std::set<RailSet> unions(const std::vector<Demand>& demands) {
  std::set<RailSet> all;
  for (const Demand& demand : demands) {
    std::set<RailSet> wider{demand.rails};
    if (all.count(demand.rails) != 0) continue;
    for (const RailSet& set : all) wider.insert(joined(set, demand.rails));
    all.merge(wider);
  }
  return all;
}

/// max over A of (records whose set lies in A) / (weight of A). `weights` [R] of the node's rails.
Ratio worst_subset(const std::vector<Demand>& demands, const std::vector<std::int64_t>& weights) {
  Ratio worst;
  for (const RailSet& set : unions(demands)) {
    std::int64_t records = 0;
    for (const Demand& demand : demands) {
      if (within(demand.rails, set)) records += demand.records;
    }
    std::int64_t weight = 0;
    for (std::size_t r = 0; r < set.size(); ++r) weight += set[r] ? weights[r] : 0;
    const Ratio load = reduced(records, weight);
    if (larger(load, worst)) worst = load;
  }
  return worst;
}

/// Adds records to the demand with the same rails.
void collect(std::vector<Demand>& demands, const RailSet& rails, std::int64_t records) {
  for (Demand& demand : demands) {
    if (demand.rails != rails) continue;
    demand.records += records;
    return;
  }
  demands.push_back({rails, records});
}

RailSet egress_rails(const Topology& topology, NodePair pair) {
  RailSet set(static_cast<std::size_t>(topology.rails()), false);
  for (const RailId r : topology.eligible(pair.source, pair.destination)) set[r.index()] = true;
  return set;
}

RailSet ingress_rails(const Topology& topology, NodePair pair) {
  RailSet set(static_cast<std::size_t>(topology.rails()), false);
  for (const RailId r : topology.eligible(pair.source, pair.destination)) {
    set[topology.ingress(pair.source, pair.destination, r).index()] = true;
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

void raise(Ratio& bound, const Ratio& other) {
  if (larger(other, bound)) bound = other;
}

}  // namespace

Ratio bound_records(const Topology& topology, const RailCounts& counts) {
  Ratio bound;
  for (NodeId node(0); node.value < topology.nodes(); ++node.value) {
    std::vector<Demand> out;
    std::vector<Demand> in;
    for (NodeId other(0); other.value < topology.nodes(); ++other.value) {
      const std::int64_t sent = counts.slice(node, other);
      const std::int64_t received = counts.slice(other, node);
      if (sent > 0) {
        collect(out, egress_rails(topology, {node, other}), sent);
        raise(bound, alone(topology, {node, other}, sent));
      }
      if (received > 0) collect(in, ingress_rails(topology, {other, node}), received);
    }
    const auto weights = weights_of(topology, node);
    for (const auto& demands : {out, in}) raise(bound, worst_subset(demands, weights));
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
