#include "replay_result.hpp"

#include <algorithm>
#include <utility>

#include <railwave/communicator.hpp>

#include "base/fail.hpp"
#include "model/descriptors.hpp"
#include "plan/dispatch_plan.hpp"
#include "plan/lower_bound.hpp"
#include "run_environment.hpp"

namespace railwave::cli {

void ResultBuilder::describe_workload(report::WorkloadFacts& facts) const {
  facts.trace = work_.trace_name;
  facts.routing = options_.routing;
  facts.schedule = request_.by_trace ? "all-at-once" : options_.schedule;
  if (!request_.by_trace) {
    facts.placement = options_.placement;
    if (options_.payload_mib > 0) facts.payload_mib = options_.payload_mib;
  }
  facts.layers = static_cast<int>(work_.layers.size());
  facts.experts = work_.placement.experts();
  facts.top_k = work_.top_k;
  facts.dtype = to_string(request_.dtype);
  facts.hidden = options_.hidden;
  facts.row_bytes = row_bytes();
  RailCounts all(topology_.nodes(), topology_.rails());
  for (const ReplayLayer& layer : work_.layers) {
    facts.rows += layer.counts.total();
    for (int s = 0; s < topology_.nodes(); ++s) {
      for (int r = 0; r < topology_.rails(); ++r) {
        for (int d = 0; d < topology_.nodes(); ++d) {
          const std::int64_t sum = all.at(NodeId(s), RailId(r), NodeId(d)) +
                                   layer.counts.at(NodeId(s), RailId(r), NodeId(d));
          all.set(NodeId(s), RailId(r), NodeId(d), sum);
        }
      }
    }
    const auto one =
        railwave::describe(layer.counts, layer.windows, row_bytes(), topology_.ranks());
    if (!one || !one->receiver_concentration) continue;
    facts.receiver_concentration =
        std::max(facts.receiver_concentration.value_or(0), one->receiver_concentration->value());
    facts.fan_in = std::max(facts.fan_in.value_or(0), one->fan_in);
  }
  const auto together = railwave::describe(all, {}, row_bytes(), topology_.ranks());
  if (together && together->rail_skew) facts.rail_skew = together->rail_skew->value();
}

Status ResultBuilder::add_bounds(report::PathResult& out) const {
  const Path path = *path_from_string(out.name);
  const double rate = testbed::rate_of_weight_one(spec_, topology_);
  const std::int64_t burst = testbed::burst_over_weight(spec_, topology_);
  const auto seconds = [&](double records) {
    return plan::bound_seconds(records, row_bytes(), rate, burst);
  };
  out.bound_s = 0;
  out.path_bound_s = 0;
  for (const ReplayLayer& layer : work_.layers) {
    const auto plan = plan::DispatchPlan::create(topology_, layer.counts, {path, layer.windows});
    if (!plan) return fail(plan.error());
    const bool free = !uses_waves(path) && request_.window_start == StartPolicy::Free;
    const double along = free ? plan::free_path_bound(*plan) : plan::barrier_path_bound(*plan);
    // Combine carries as many bytes on the same rails, the other way.
    *out.bound_s += seconds(plan::bound_records(topology_, layer.counts).value()) +
                    seconds(plan::bound_records(topology_, layer.counts.transposed()).value());
    *out.path_bound_s += 2 * seconds(along);
  }
  return {};
}

Result<report::ReplayResult> ResultBuilder::build(
    const std::vector<std::vector<RankSample>>& by_rank) const {
  report::ReplayResult out;
  out.cluster = cluster_facts(spec_);
  out.environment = run_environment(spec_, options_.seed);
  describe_workload(out.workload);
  for (const Path path : request_.paths) {
    auto row = path_result(path, topology_, static_cast<int>(work_.layers.size()), by_rank);
    if (!row) return fail(std::move(row).error());
    const StartPolicy start = uses_waves(path)
                                  ? request_.wave_start.value_or(CommunicatorOptions{}.wave_start)
                                  : request_.window_start;
    row->start = to_string(start);
    RAILWAVE_TRY(add_bounds(*row));
    out.paths.push_back(*std::move(row));
  }
  RAILWAVE_TRY(report::summarise(out));
  return out;
}

}  // namespace railwave::cli
