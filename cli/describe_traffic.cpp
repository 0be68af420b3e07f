#include "describe_traffic.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "dtype_option.hpp"
#include "limits.hpp"
#include "plan/waves.hpp"
#include "row_bytes.hpp"
#include "trace_phases.hpp"
#include "workload/bins.hpp"
#include "workload/schedule_windows.hpp"
#include "workload/trace_traffic.hpp"

namespace railwave::cli {
namespace {

Result<Windows> windows_named(const std::string& name, int nodes) {
  if (name == "all-at-once") return Windows{};
  if (name == "waves") return plan::permutation_waves(nodes);
  if (nodes < 3) {
    return fail(ErrorCode::InvalidArgument, "--windows",
                fmt::format("windows {} are defined for at least 3 nodes, the cluster has {}; use "
                            "all-at-once or waves",
                            name, nodes));
  }
  return name == "moderate" ? workload::moderate_windows(nodes) : workload::extreme_windows(nodes);
}

struct Setting {
  workload::Trace trace;
  Topology topology;
  Placement placement;
  Windows windows;
};

Result<Topology> topology_of(const DescribeOptions& o) {
  if (o.cluster.empty()) {
    if (o.rails == 0 && o.ranks_per_node > kMostRails) {
      return fail(ErrorCode::InvalidArgument, "--rails",
                  fmt::format("as many as the {} ranks of a node are too many; give 1 to {}",
                              o.ranks_per_node, kMostRails));
    }
    return limited_topology(o.nodes, o.ranks_per_node, o.rails > 0 ? o.rails : o.ranks_per_node);
  }
  const auto spec = testbed::read_cluster(o.cluster);
  if (!spec) return fail(spec.error());
  return Topology::create(testbed::topology_options(*spec));
}

/// [P, P] and [P, N] rows of a layer and of the sum, [N, R, N] records, and figures of every layer.
Status fits(const Topology& topology, int layers) {
  const std::int64_t ranks = topology.ranks();
  const std::int64_t nodes = topology.nodes();
  constexpr std::int64_t kOfALayer = 512;
  const std::int64_t counts =
      2 * ranks * (ranks + nodes) + nodes * nodes * (topology.rails() + 1) + nodes * nodes;
  const std::int64_t of_layer = kOfALayer + 8 * (nodes * nodes + 2 * topology.rails());
  const auto figures = checked_mul(of_layer, layers + 1);
  return fits_memory(
      "--nodes", figures ? checked_add(8 * counts, *figures) : std::nullopt,
      fmt::format("the rows between {} ranks on {} nodes, in {} layers,", ranks, nodes, layers));
}

Result<Setting> setting_of(const DescribeOptions& o) {
  auto topology = topology_of(o);
  if (!topology) return fail(topology.error());
  auto trace = load_trace(o.trace, o.experts, o.seed, true);
  if (!trace) return fail(trace.error());
  RAILWAVE_TRY(fits(*topology, trace->layers()));
  auto placement = Placement::contiguous(trace->experts(), topology->ranks());
  if (!placement) return fail(placement.error());
  auto windows = windows_named(o.windows, topology->nodes());
  if (!windows) return fail(windows.error());
  return Setting{*std::move(trace), *std::move(topology), *std::move(placement),
                 *std::move(windows)};
}

report::Description facts(const DescribeOptions& o, const Setting& setting) {
  report::Description out;
  out.trace = trace_name(o.trace);
  out.experts = setting.trace.experts();
  out.top_k = setting.trace.top_k();
  out.tokens = setting.trace.tokens();
  out.sources = setting.trace.sources();
  for (NodeId node(0); node.value < setting.topology.nodes(); ++node.value) {
    out.ranks_per_node.push_back(setting.topology.ranks_at(node));
  }
  out.rails = setting.topology.rails();
  out.windows = o.windows;
  return out;
}

Status add_bins(std::vector<std::int64_t>& sum, const std::vector<std::int64_t>& expert_counts) {
  const auto bins =
      workload::bin_counts(expert_counts, static_cast<int>(sum.size()), workload::BinOrder::Sorted);
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const auto total = checked_add(sum[i], bins[i]);
    if (!total) return fail(ErrorCode::InvalidArgument, "counts", "the layers leave 64 bits");
    sum[i] = *total;
  }
  return {};
}

}  // namespace

Result<report::Description> describe_traffic(const DescribeOptions& o) {
  const auto setting = setting_of(o);
  if (!setting) return fail(setting.error());
  const auto& [trace, topology, placement, windows] = *setting;
  const auto bytes = row_bytes(o.hidden, dtype_named(o.dtype));
  if (!bytes) return fail(bytes.error());
  report::Description out = facts(o, *setting);
  out.row_bytes = *bytes;
  out.bins.assign(static_cast<std::size_t>(std::ranges::max(out.ranks_per_node)), 0);
  std::optional<Traffic> sum;
  for (int layer = 0; layer < trace.layers(); ++layer) {
    auto traffic = workload::layer_traffic(trace, layer, topology, placement);
    if (!traffic) return fail(traffic.error());
    RAILWAVE_TRY(add_bins(out.bins, traffic->expert_counts));
    auto figures = traffic_figures(*traffic, topology, placement, windows, *bytes);
    if (!figures) return fail(figures.error());
    out.layers.push_back(*std::move(figures));
    if (sum) {
      RAILWAVE_TRY(sum->add(*traffic));
    } else {
      sum = *std::move(traffic);
    }
  }
  auto overall = traffic_figures(*sum, topology, placement, windows, *bytes);
  if (!overall) return fail(overall.error());
  out.overall = *std::move(overall);
  out.node_rows = std::accumulate(sum->node_rows.begin(), sum->node_rows.end(), std::int64_t{0});
  out.rank_rows = std::move(sum->rank_rows);
  report::summarise(out);
  return out;
}

}  // namespace railwave::cli
