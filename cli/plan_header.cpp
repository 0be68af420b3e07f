// What stands above the tables of `railwave plan`: cluster, weights, records, bounds.
#include <functional>
#include <map>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/units.hpp"
#include "cluster_report.hpp"
#include "plan_view.hpp"
#include "report/table.hpp"

namespace railwave::cli {
namespace {

using report::comment;

constexpr int kMostNodeLines = 64;        ///< described one by one
constexpr std::size_t kMostWeights = 16;  ///< on one line

std::string bound_line(const PhaseSource& source, const char* name, double records, double least) {
  return comment(fmt::format("  {:<28} {:>10.1f} {:>12} {:>8.3f}", name, records,
                             format_seconds(source.seconds(records)),
                             least > 0 ? records / least : 0));
}

/// The cluster in one line, and where its nodes or rails differ, node by node.
std::string cluster_lines(const testbed::ClusterSpec& spec) {
  const bool uneven = is_uneven(spec);
  const std::string line = comment(
      fmt::format("cluster  {} nodes, {} ranks, {} rails of {}{}", spec.nodes(), spec.ranks(),
                  spec.rails, format_rate(spec.rate), uneven ? ", node by node:" : ""));
  return uneven ? line + nodes_text(spec, kMostNodeLines) : line;
}

/// What a weight is, and those of this cluster, largest first.
std::string weights_lines(const PhaseSource& source) {
  std::map<std::int64_t, std::int64_t, std::greater<>> rates;  // by weight
  for (NodeId n(0); n.value < source.topology().nodes(); ++n.value) {
    for (RailId r(0); r.value < source.topology().rails(); ++r.value) {
      rates[source.topology().weight(n, r)] = source.spec.rate_of(n, r);
    }
  }
  std::vector<std::string> words;
  for (const auto& [weight, rate] : rates) {
    if (words.size() == kMostWeights) break;
    words.push_back(fmt::format("{} at {}", weight, format_rate(rate)));
  }
  if (rates.size() > kMostWeights) {
    words.push_back(fmt::format("and {} more", rates.size() - kMostWeights));
  }
  return comment(fmt::format("weights  a rail's rate over {}, of which all rates are multiples: {}",
                             format_rate(source.rate_of_weight_one()), fmt::join(words, ", "))) +
         comment(
             "         rec/weight: a rail's records over its weight, what weight 1 carries in its "
             "time");
}

std::string share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? "0 %"
                    : fmt::format("{:.1f} %",
                                  100 * static_cast<double>(part) / static_cast<double>(whole));
}

std::int64_t moved_in_all(const plan::RecordedPlan& plan) {
  return std::transform_reduce(plan.slices.begin(), plan.slices.end(), std::int64_t{0},
                               std::plus<>{}, plan::moved_records);
}

}  // namespace

std::string phase_lines(const PhaseSource& source, const PhaseLayer& layer,
                        const plan::DispatchPlan& plan) {
  const plan::RecordedPlan written = record(plan);
  const PhaseBounds bounds = bounds_of(plan);
  const std::int64_t total = plan.counts().total();
  std::string out = comment(fmt::format("plan     {}, layer {} of {}, {}", to_string(plan.path()),
                                        layer.layer, source.phases.layers(), source.phases.name()));
  out += cluster_lines(source.spec);
  const bool weighted = has_weights(source.topology());
  if (weighted) out += weights_lines(source);
  out += comment(
      fmt::format("records  {} of {} leave their node, {} of them ({}) by another rail "
                  "than their home rail; {:.1f} % of all rows stay in their node",
                  total, format_size(source.phases.row_bytes()), moved_in_all(written),
                  share(moved_in_all(written), total), 100 * intra_node_share(source, layer)));
  out += comment(fmt::format("bounds   {:<21} {:>10} {:>12} {:>8}", "",
                             weighted ? "rec/weight" : "records", "time", "x LB1"));
  out += bound_line(source, "LB1, whatever the plan", bounds.least, bounds.least);
  out += bound_line(source, "this plan, with barriers", bounds.barrier, bounds.least);
  out += bound_line(source, "this plan, free-running", bounds.free, bounds.least);
  return out;
}

}  // namespace railwave::cli
