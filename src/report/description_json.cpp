#include <numeric>

#include <nlohmann/json.hpp>

#include "base/strict_json.hpp"
#include "report/description.hpp"

namespace railwave::report {
namespace {

using Json = nlohmann::ordered_json;

void put(Json& out, const char* name, const std::optional<double>& value) {
  if (value) out[name] = *value;
}

void put(Json& out, const char* name, const std::optional<Ratio>& value) {
  if (value) out[name] = value->value();
}

Json square(const std::vector<std::int64_t>& cells, std::size_t size) {
  Json rows = Json::array();
  for (std::size_t s = 0; s < size; ++s) {
    const auto first = cells.begin() + static_cast<std::ptrdiff_t>(s * size);
    rows.push_back(std::vector<std::int64_t>(first, first + static_cast<std::ptrdiff_t>(size)));
  }
  return rows;
}

Json figures(const TrafficFigures& f, std::size_t nodes) {
  Json out;
  put(out, "expert_imbalance", f.expert_imbalance);
  put(out, "source_imbalance", f.source_imbalance);
  put(out, "destination_imbalance", f.destination_imbalance);
  put(out, "source_share", f.source_share);
  put(out, "destination_share", f.destination_share);
  out["payload_bytes"] = f.descriptors.payload.value();
  put(out, "rail_skew", f.descriptors.rail_skew);
  put(out, "receiver_concentration", f.descriptors.receiver_concentration);
  out["fan_in"] = f.descriptors.fan_in;
  out["source_rails"] = f.source_rails;
  out["destination_rails"] = f.destination_rails;
  out["node_demand"] = square(f.node_demand, nodes);
  return out;
}

Json spread(const Spread& s) {
  Json out = Json::object();
  put(out, "p10", s.p10);
  put(out, "p50", s.p50);
  put(out, "p90", s.p90);
  return out;
}

void put(Json& out, const char* name, const std::optional<LinearFit>& fit) {
  if (!fit) return;
  out[name] = {{"slope", fit->slope}, {"intercept", fit->intercept}};
  put(out[name], "r_squared", fit->r_squared);
}

}  // namespace

std::string to_json(const Description& d) {
  const std::size_t nodes = d.ranks_per_node.size();
  Json out;
  out["schema"] = "railwave.describe/1";
  out["cluster"] = {{"nodes", nodes}, {"ranks_per_node", d.ranks_per_node}, {"rails", d.rails}};
  out["trace"] = {{"name", d.trace}, {"layers", d.layers.size()}, {"experts", d.experts}};
  if (d.top_k > 0) {
    out["trace"]["tokens"] = d.tokens;
    out["trace"]["top_k"] = d.top_k;
  } else {
    out["trace"]["sources"] = d.sources;
  }
  out["row_bytes"] = d.row_bytes;
  out["windows"] = d.windows;
  out["over_layers"] = {{"expert_imbalance", spread(d.expert_imbalance)},
                        {"source_imbalance", spread(d.source_imbalance)},
                        {"destination_imbalance", spread(d.destination_imbalance)}};
  out["fits"] = Json::object();
  put(out["fits"], "source", d.source_fit);
  put(out["fits"], "destination", d.destination_fit);
  out["sorted_bins"] = d.bins;
  put(out, "nodes_per_token", d.nodes_per_token);
  put(out, "remote_nodes_per_token", d.remote_nodes_per_token);
  put(out, "rows_per_pair", d.rows_per_pair);
  out["sum"] = figures(d.overall, nodes);
  const auto ranks = static_cast<std::size_t>(
      std::accumulate(d.ranks_per_node.begin(), d.ranks_per_node.end(), 0));
  out["sum"]["rank_rows"] = square(d.rank_rows, ranks);
  out["layers"] = Json::array();
  for (const TrafficFigures& layer : d.layers) out["layers"].push_back(figures(layer, nodes));
  return json_text(out, 1);
}

}  // namespace railwave::report
