#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/units.hpp"
#include "report/description.hpp"
#include "report/table.hpp"

namespace railwave::report {
namespace {

constexpr const char* kAbsent = "-";
/// Beyond this a map of numbers is wider than a terminal, and a map of shades is.
constexpr std::size_t kMostNumbered = 12;
constexpr std::size_t kMostShaded = 128;

std::string figure(const std::optional<double>& value, int digits = 2, double scale = 1) {
  return value ? fmt::format("{:.{}f}", *value * scale, digits) : kAbsent;
}

std::string figure(const std::optional<Ratio>& value) {
  return value ? fmt::format("{:.2f}", value->value()) : kAbsent;
}

bool even_nodes(const Description& d) {
  return std::ranges::adjacent_find(d.ranks_per_node, std::ranges::not_equal_to{}) ==
         d.ranks_per_node.end();
}

std::string header(const Description& d) {
  std::string out = comment(
      fmt::format("cluster      {} nodes x {} ranks, {} rails; contiguous experts; windows {}",
                  d.ranks_per_node.size(),
                  even_nodes(d) ? fmt::format("{}", d.ranks_per_node.front())
                                : fmt::format("{}", fmt::join(d.ranks_per_node, ",")),
                  d.rails, d.windows));
  out += comment(fmt::format(
      "trace        {}: {} layers, {} experts, {}", d.trace, d.layers.size(), d.experts,
      d.top_k > 0
          ? fmt::format("{} tokens, top-{}", d.tokens, d.top_k)
          : fmt::format("counts of {}", d.sources > 1 ? fmt::format("{} sources", d.sources)
                                                      : "all tokens, sources taken as even")));
  return out + comment(fmt::format(
                   "rows         {} bytes; {}", d.row_bytes,
                   d.top_k > 0 ? "one a token and node" : "one a token and slot (no token ids)"));
}

std::vector<std::string> row(std::string name, const TrafficFigures& f, double layers) {
  return {std::move(name),
          figure(f.expert_imbalance),
          figure(f.source_imbalance),
          figure(f.destination_imbalance),
          figure(f.source_share, 1, 100),
          figure(f.destination_share, 1, 100),
          fmt::format("{:.3f}", f.descriptors.payload.value() / layers / (1 << 20)),
          figure(f.descriptors.rail_skew),
          figure(f.descriptors.receiver_concentration),
          fmt::format("{}", f.descriptors.fan_in)};
}

std::vector<std::string> spread_row(const Description& d, std::string name,
                                    std::optional<double> Spread::*quantile) {
  std::vector<std::string> cells(10, "");
  cells[0] = std::move(name);
  cells[1] = figure(d.expert_imbalance.*quantile);
  cells[2] = figure(d.source_imbalance.*quantile);
  cells[3] = figure(d.destination_imbalance.*quantile);
  return cells;
}

std::string layer_table(const Description& d, std::size_t max_layers) {
  Table table({{"layer"},
               {"experts", "max/mean"},
               {"source rails", "max/mean"},
               {"dest. rails", "max/mean"},
               {"source", "busiest %"},
               {"dest.", "busiest %"},
               {"B", "MiB"},
               {"rho"},
               {"kappa"},
               {"phi"}});
  for (std::size_t l = 0; l < d.layers.size() && l < max_layers; ++l) {
    table.add_row(row(fmt::format("{}", l), d.layers[l], 1));
  }
  table.add_row(spread_row(d, "p10", &Spread::p10));
  table.add_row(spread_row(d, "p50", &Spread::p50));
  table.add_row(spread_row(d, "p90", &Spread::p90));
  table.add_row(row("sum", d.overall, static_cast<double>(d.layers.size())));
  std::string out = table.text();
  if (d.layers.size() > max_layers) {
    out += comment(fmt::format("{} more layers: --layers or --json", d.layers.size() - max_layers));
  }
  return out + comment("sum: all layers added up; its B is the mean of a layer");
}

std::string fit_line(const char* name, const std::optional<LinearFit>& fit) {
  if (!fit) return comment(fmt::format("{} imbalance: no line fits", name));
  return comment(fmt::format("{} imbalance = {:.4f} x expert imbalance {} {:.4f}, R2 {}", name,
                             fit->slope, fit->intercept < 0 ? '-' : '+', std::abs(fit->intercept),
                             figure(fit->r_squared, 3)));
}

std::string shares(const std::vector<std::int64_t>& loads, int digits) {
  const double sum = std::accumulate(loads.begin(), loads.end(), 0.0, [](double a, std::int64_t b) {
    return a + static_cast<double>(b);
  });
  std::vector<std::string> out;
  for (const std::int64_t load : loads) {
    out.push_back(sum > 0 ? fmt::format("{:.{}f}", 100 * static_cast<double>(load) / sum, digits)
                          : kAbsent);
  }
  return fmt::format("{}", fmt::join(out, " "));
}

std::string sorted_bins(const Description& d) {
  std::string out =
      comment(fmt::format("sorted bins  {} % of all layers (App. A.6)", shares(d.bins, 1)));
  if (d.bins.size() % 2 != 0 || d.bins.size() < 4) return out;
  std::vector<std::int64_t> pairs;
  for (std::size_t i = 0; i + 1 < d.bins.size(); i += 2) pairs.push_back(d.bins[i] + d.bins[i + 1]);
  return out + comment(fmt::format("in pairs     {} %", shares(pairs, 2)));
}

std::string reach(const Description& d) {
  if (!d.nodes_per_token) return {};
  return comment(fmt::format(
      "a token reaches {:.2f} of {} nodes, {:.2f} of them remote; rows are {} of the (token, slot) "
      "pairs",
      *d.nodes_per_token, d.ranks_per_node.size(), *d.remote_nodes_per_token,
      figure(d.rows_per_pair)));
}

std::string maps(const Description& d, Shades shades) {
  const std::size_t nodes = d.ranks_per_node.size();
  const HeatMap node_map{"node demand, rows of all layers (from row to column)",
                         d.overall.node_demand, nodes, 0};
  std::string out = nodes <= kMostNumbered ? numbered_map(node_map, shades)
                    : nodes <= kMostShaded ? shaded_map(node_map, shades)
                                           : "";
  const auto ranks = static_cast<std::size_t>(
      std::accumulate(d.ranks_per_node.begin(), d.ranks_per_node.end(), 0));
  if (ranks > kMostShaded) return out;
  return out + shaded_map({"rank demand, rows of all layers, own node included", d.rank_rows, ranks,
                           even_nodes(d) ? ranks / nodes : 0},
                          shades);
}

std::string rail_bars(const Description& d, Shades shades) {
  std::vector<std::string> names;
  for (int r = 0; r < d.rails; ++r) names.push_back(fmt::format("rail {}", r));
  return bars("source rails: rows that leave their node, by home rail of the sender", names,
              d.overall.source_rails, shades) +
         bars("destination rails: (token, slot) pairs, by home rail of the expert's owner", names,
              d.overall.destination_rails, shades);
}

}  // namespace

std::string to_table(const Description& d, Shades shades, std::size_t max_layers) {
  return header(d) + layer_table(d, max_layers) + fit_line("source", d.source_fit) +
         fit_line("destination", d.destination_fit) + sorted_bins(d) + reach(d) + maps(d, shades) +
         rail_bars(d, shades);
}

}  // namespace railwave::report
