#include "plan_fields.hpp"

#include <algorithm>

namespace railwave::report {
namespace {

bool is_identity(const Topology& topology) {
  for (NodeId s(0); s.value < topology.nodes(); ++s.value) {
    for (NodeId d(0); d.value < topology.nodes(); ++d.value) {
      for (RailId r(0); r.value < topology.rails(); ++r.value) {
        if (s != d && topology.ingress(s, d, r) != r) return false;
      }
    }
  }
  return true;
}

std::vector<std::vector<std::vector<int>>> ingress_of(const Topology& topology) {
  std::vector<std::vector<std::vector<int>>> out;
  for (NodeId s(0); s.value < topology.nodes(); ++s.value) {
    auto& row = out.emplace_back();
    for (NodeId d(0); d.value < topology.nodes(); ++d.value) {
      auto& rails = row.emplace_back();
      for (RailId r(0); r.value < topology.rails(); ++r.value) {
        rails.push_back(s == d ? r.value : topology.ingress(s, d, r).value);
      }
    }
  }
  return out;
}

std::optional<std::vector<std::vector<std::int64_t>>> weights_of(const Topology& topology) {
  std::vector<std::vector<std::int64_t>> out;
  bool alike = true;
  for (NodeId n(0); n.value < topology.nodes(); ++n.value) {
    auto& row = out.emplace_back();
    for (RailId r(0); r.value < topology.rails(); ++r.value) {
      alike = alike && topology.weight(n, r) == 1;
      row.push_back(topology.weight(n, r) * topology.weight_unit());
    }
  }
  return alike ? std::nullopt : std::optional(std::move(out));
}

TopologyFields topology_fields(const Topology& topology) {
  TopologyFields out;
  out.rails = topology.rails();
  std::vector<std::vector<int>> missing;
  for (NodeId n(0); n.value < topology.nodes(); ++n.value) {
    auto& homes = out.home_rail.emplace_back();
    for (int local = 0; local < topology.ranks_at(n); ++local) {
      homes.push_back(topology.home_rail(topology.rank_at(n, local)).value);
    }
    auto& down = missing.emplace_back();
    for (RailId r(0); r.value < topology.rails(); ++r.value) {
      if (!topology.live(n, r)) down.push_back(r.value);
    }
  }
  const bool all_live =
      std::all_of(missing.begin(), missing.end(), [](const auto& rails) { return rails.empty(); });
  if (!all_live) out.missing_rails = std::move(missing);
  out.weights = weights_of(topology);
  if (!is_identity(topology)) out.ingress = ingress_of(topology);
  return out;
}

SliceFields slice_fields(const plan::RecordedSlice& slice) {
  SliceFields out{slice.pair.source.value, slice.pair.destination.value};
  for (const plan::RecordedSend& send : slice.sends) {
    out.sends.push_back({static_cast<std::int64_t>(send.window), send.loads});
  }
  for (const plan::Segment& s : slice.segments) {
    out.segments.push_back({s.home.value, s.first, s.rail.value, s.slot, s.count});
  }
  return out;
}

}  // namespace

PlanFields plan_fields(const plan::RecordedPlan& plan) {
  PlanFields out;
  out.path = to_string(plan.path);
  out.topology = topology_fields(plan.topology);
  for (NodeId s(0); s.value < plan.counts.nodes(); ++s.value) {
    auto& rows = out.counts.emplace_back();
    for (RailId r(0); r.value < plan.counts.rails(); ++r.value) {
      auto& row = rows.emplace_back();
      for (NodeId d(0); d.value < plan.counts.nodes(); ++d.value) {
        row.push_back(s == d ? 0 : plan.counts.at(s, r, d));
      }
    }
  }
  for (const Window& window : plan.windows) {
    auto& pairs = out.windows.emplace_back();
    for (const NodePair pair : window) {
      pairs.push_back({pair.source.value, pair.destination.value});
    }
  }
  for (const plan::RecordedSlice& slice : plan.slices) out.slices.push_back(slice_fields(slice));
  return out;
}

}  // namespace railwave::report
