#include "report/description.hpp"

#include <numeric>

namespace railwave::report {
namespace {

using Figure = std::optional<double> TrafficFigures::*;

Spread spread_of(const std::vector<TrafficFigures>& layers, Figure figure) {
  std::vector<double> values;
  for (const TrafficFigures& layer : layers) {
    if (layer.*figure) values.push_back(*(layer.*figure));
  }
  return {upper_quantile(values, 10), upper_quantile(values, 50), upper_quantile(values, 90)};
}

std::optional<LinearFit> fit_of(const std::vector<TrafficFigures>& layers, Figure figure) {
  std::vector<double> x;
  std::vector<double> y;
  for (const TrafficFigures& layer : layers) {
    if (!layer.expert_imbalance || !(layer.*figure)) continue;
    x.push_back(*layer.expert_imbalance);
    y.push_back(*(layer.*figure));
  }
  return linear_fit(x, y);
}

double sum(const std::vector<std::int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), 0.0,
                         [](double a, std::int64_t b) { return a + static_cast<double>(b); });
}

}  // namespace

void summarise(Description& d) {
  d.expert_imbalance = spread_of(d.layers, &TrafficFigures::expert_imbalance);
  d.source_imbalance = spread_of(d.layers, &TrafficFigures::source_imbalance);
  d.destination_imbalance = spread_of(d.layers, &TrafficFigures::destination_imbalance);
  d.source_fit = fit_of(d.layers, &TrafficFigures::source_imbalance);
  d.destination_fit = fit_of(d.layers, &TrafficFigures::destination_imbalance);
  const double tokens = static_cast<double>(d.tokens) * static_cast<double>(d.layers.size());
  const double pairs = sum(d.overall.destination_rails);
  d.nodes_per_token.reset();
  d.remote_nodes_per_token.reset();
  d.rows_per_pair.reset();
  if (d.top_k == 0 || tokens == 0) return;
  d.nodes_per_token = static_cast<double>(d.node_rows) / tokens;
  d.remote_nodes_per_token = sum(d.overall.node_demand) / tokens;
  if (pairs > 0) d.rows_per_pair = static_cast<double>(d.node_rows) / pairs;
}

}  // namespace railwave::report
