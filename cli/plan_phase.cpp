#include "plan_phase.hpp"

#include <utility>

#include <fmt/format.h>

#include "base/fail.hpp"
#include "plan/lower_bound.hpp"

namespace railwave::cli {
namespace {

RailLoads no_loads(const Topology& topology) {
  const std::vector<std::int64_t> none(
      static_cast<std::size_t>(topology.nodes()) * static_cast<std::size_t>(topology.rails()), 0);
  return {none, none};
}

void add_load(RailLoads& loads, const Topology& topology, NodePair pair, RailId egress,
              std::int64_t records) {
  const auto rails = static_cast<std::size_t>(topology.rails());
  const RailId ingress = topology.ingress(pair.source, pair.destination, egress);
  loads.sent[pair.source.index() * rails + egress.index()] += records;
  loads.received[pair.destination.index() * rails + ingress.index()] += records;
}

}  // namespace

Result<PhaseLayer> PhaseSource::layer(int index) const {
  if (index < 0 || index >= phases.layers()) {
    return fail(ErrorCode::InvalidArgument, "--layer",
                fmt::format("layer {}, expected 0 to {}", index, phases.layers() - 1));
  }
  auto sent = phases.counts(index);
  if (!sent) return fail(std::move(sent).error());
  return PhaseLayer{index, *std::move(sent)};
}

std::int64_t PhaseSource::rate_of_weight_one() const {
  return spec.rate_of(NodeId(0), RailId(0)) / topology().weight(NodeId(0), RailId(0));
}

double PhaseSource::seconds(double records) const {
  return plan::bound_seconds(records, phases.row_bytes(),
                             testbed::rate_of_weight_one(spec, topology()),
                             testbed::burst_over_weight(spec, topology()));
}

Result<plan::DispatchPlan> PhaseSource::plan(const PhaseLayer& layer, Path path) const {
  return plan::DispatchPlan::create(topology(), layer.sent.counts, {path, layer.sent.windows});
}

Result<PhaseSource> phase_source(const ReplayOptions& options) {
  const auto request = understand(options);
  if (!request) return fail(request.error());
  auto spec = cluster_from(options.cluster);
  if (!spec) return fail(std::move(spec).error());
  const auto topology = Topology::create(testbed::topology_options(*spec));
  if (!topology) return fail(topology.error());
  auto phases = TracePhases::open(options, *request, *topology);
  if (!phases) return fail(std::move(phases).error());
  return PhaseSource{*std::move(spec), *std::move(phases)};
}

bool has_weights(const Topology& topology) {
  for (NodeId n(0); n.value < topology.nodes(); ++n.value) {
    for (RailId r(0); r.value < topology.rails(); ++r.value) {
      if (topology.weight(n, r) != 1) return true;
    }
  }
  return false;
}

PhaseBounds bounds_of(const plan::DispatchPlan& plan) {
  return {plan::bound_records(plan.topology(), plan.counts()).value(),
          plan::barrier_path_bound(plan), plan::free_path_bound(plan)};
}

RailLoads home_loads(const plan::RecordedPlan& plan) {
  RailLoads loads = no_loads(plan.topology);
  for (const plan::RecordedSlice& slice : plan.slices) {
    for (RailId r(0); r.value < plan.topology.rails(); ++r.value) {
      add_load(loads, plan.topology, slice.pair, r,
               plan.counts.at(slice.pair.source, r, slice.pair.destination));
    }
  }
  return loads;
}

RailLoads planned_loads(const plan::RecordedPlan& plan) {
  RailLoads loads = no_loads(plan.topology);
  for (const plan::RecordedSlice& slice : plan.slices) {
    for (const plan::RecordedSend& send : slice.sends) {
      for (RailId r(0); r.value < plan.topology.rails(); ++r.value) {
        add_load(loads, plan.topology, slice.pair, r, send.loads[r.index()]);
      }
    }
  }
  return loads;
}

double intra_node_share(const PhaseSource& source, const PhaseLayer& layer) {
  const Topology& topology = source.topology();
  const auto nodes = static_cast<std::size_t>(topology.nodes());
  std::int64_t inside = 0;
  for (RankId p(0); p.value < topology.ranks(); ++p.value) {
    inside += layer.sent.node_rows[p.index() * nodes + topology.node_of(p).index()];
  }
  const std::int64_t all = inside + layer.sent.counts.total();
  return all == 0 ? 0 : static_cast<double>(inside) / static_cast<double>(all);
}

}  // namespace railwave::cli
