#include "plan_phase.hpp"

#include <utility>

#include "base/fail.hpp"
#include "model/routing.hpp"
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

double PhaseSource::seconds(double records) const {
  return plan::bound_seconds(records, row_bytes, testbed::rate_of_weight_one(spec, topology),
                             testbed::burst_over_weight(spec, topology));
}

Result<plan::DispatchPlan> PhaseSource::plan(std::size_t layer, Path path) const {
  const ReplayLayer& sent = work.layers[layer];
  return plan::DispatchPlan::create(topology, sent.counts, {path, sent.windows});
}

Result<PhaseSource> phase_source(const ReplayOptions& options) {
  const auto request = understand(options);
  if (!request) return fail(request.error());
  auto spec = cluster_from(options.cluster);
  if (!spec) return fail(std::move(spec).error());
  auto topology = Topology::create(testbed::topology_options(*spec));
  if (!topology) return fail(std::move(topology).error());
  auto work = make_workload(options, *request, *topology);
  if (!work) return fail(std::move(work).error());
  return PhaseSource{*std::move(spec), *std::move(topology), *std::move(work),
                     options.hidden * element_bytes(request->dtype)};
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

double intra_node_share(const PhaseSource& source, std::size_t layer) {
  std::int64_t inside = 0;
  const ReplayLayer& sent = source.work.layers[layer];
  for (std::size_t p = 0; p < sent.routing.size(); ++p) {
    const Layout layout =
        Layout::of(sent.routing[p].view(), source.work.placement, source.topology);
    inside += layout.tokens_per_node[source.topology.node_of(RankId(p)).index()];
  }
  const std::int64_t all = inside + sent.counts.total();
  return all == 0 ? 0 : static_cast<double>(inside) / static_cast<double>(all);
}

}  // namespace railwave::cli
