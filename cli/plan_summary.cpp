#include "plan_summary.hpp"

#include <nlohmann/json.hpp>

#include "base/strict_json.hpp"
#include "cluster_report.hpp"
#include "plan_view.hpp"

namespace railwave::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSchema = "railwave.plan_summary/1";

Json bound_json(const PhaseSource& source, double records) {
  return {{"records", records}, {"seconds", source.seconds(records)}};
}

Json windows_json(const plan::RecordedPlan& plan) {
  Json out = Json::array();
  const auto facts = window_facts(plan);
  for (std::size_t w = 0; w < facts.size(); ++w) {
    Json pairs = Json::array();
    for (const NodePair pair : plan.windows[w]) {
      pairs.push_back({pair.source.value, pair.destination.value});
    }
    out.push_back({{"records", facts[w].records},
                   {"busiest_rail_records", facts[w].busiest},
                   {"longest_records_over_weight", facts[w].longest},
                   {"fan_in", facts[w].fan_in},
                   {"pairs", std::move(pairs)}});
  }
  return out;
}

Json rails_json(const plan::RecordedPlan& plan) {
  Json out = Json::array();
  const auto before = home_loads(plan);
  const auto after = planned_loads(plan);
  const auto rails = static_cast<std::size_t>(plan.topology.rails());
  for (std::size_t i = 0; i < before.sent.size(); ++i) {
    out.push_back({{"node", i / rails},
                   {"rail", i % rails},
                   {"weight", plan.topology.weight(NodeId(i / rails), RailId(i % rails))},
                   {"sent_home", before.sent[i]},
                   {"sent", after.sent[i]},
                   {"received_home", before.received[i]},
                   {"received", after.received[i]}});
  }
  return out;
}

/// What was asked for; keys as in a replay's result.
Json workload_json(const ReplayOptions& options, const std::string& trace, int layers,
                   std::int64_t row_bytes) {
  Json out{{"trace", trace}};
  if (options.trace.empty()) out["seed"] = options.seed;
  out["routing"] = options.routing;
  if (options.routing == "schedule") {
    out["placement"] = options.placement;
    // 0: the trace's own number of rows.
    if (options.payload_mib > 0) out["payload_mib"] = options.payload_mib;
  } else if (options.max_tokens > 0) {
    out["max_tokens"] = options.max_tokens;
  }
  out["layers"] = layers;
  out["dtype"] = options.dtype;
  out["hidden"] = options.hidden;
  out["row_bytes"] = row_bytes;
  return out;
}

}  // namespace

std::string summary_json(const ReplayOptions& options, const PlannedPhase& phase) {
  const auto& [source, layer, plan] = phase;
  const plan::RecordedPlan written = record(plan);
  const PhaseBounds bounds = bounds_of(plan);
  std::int64_t moved = 0;
  for (const plan::RecordedSlice& slice : written.slices) moved += moved_records(slice);
  Json out;
  out["schema"] = kSchema;
  out["cluster"] = cluster_json(source.spec);
  out["workload"] = workload_json(options, source.phases.name(), source.phases.layers(),
                                  source.phases.row_bytes());
  if (options.routing == "schedule") out["workload"]["schedule"] = options.schedule;
  out["workload"]["layer"] = layer.layer;
  out["workload"]["intra_node_share"] = intra_node_share(source, layer);
  out["rate_of_weight_one_bit_s"] = source.rate_of_weight_one();
  out["path"] = to_string(plan.path());
  out["records"] = plan.counts().total();
  out["moved_records"] = moved;
  out["bound"] = bound_json(source, bounds.least);
  out["path_bound_barrier"] = bound_json(source, bounds.barrier);
  out["path_bound_free"] = bound_json(source, bounds.free);
  out["windows"] = windows_json(written);
  out["rails"] = rails_json(written);
  return json_text(out);
}

std::string summary_json(const ReplayOptions& options, const PathBounds& bounds,
                         const std::vector<Path>& paths) {
  Json out;
  out["schema"] = kSchema;
  out["cluster"] = cluster_json(bounds.spec);
  out["workload"] = workload_json(options, bounds.trace, bounds.layers, bounds.row_bytes);
  out["rate_of_weight_one_bit_s"] = bounds.rate_of_weight_one;
  out["schedules"] = Json::array();
  for (const ScheduleBounds& row : bounds.rows) {
    Json by_path = Json::array();
    for (std::size_t i = 0; i < paths.size(); ++i) {
      Json one{{"name", to_string(paths[i])}, {"path_bound_records", row.by_path[i]}};
      if (row.by_path[i] > 0) one["native_over_path"] = row.native / row.by_path[i];
      by_path.push_back(std::move(one));
    }
    out["schedules"].push_back(
        {{"name", row.schedule}, {"bound_records", row.least}, {"paths", std::move(by_path)}});
  }
  return json_text(out);
}

}  // namespace railwave::cli
