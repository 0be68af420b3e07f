#include "describe_traffic.hpp"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "dtype_option.hpp"
#include "plan/waves.hpp"
#include "replay_workload.hpp"
#include "testbed/cluster_spec.hpp"
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

Result<std::int64_t> row_bytes(const DescribeOptions& o) {
  const auto row =
      o.hidden > 0 ? checked_mul(o.hidden, element_bytes(dtype_named(o.dtype))) : std::nullopt;
  if (row) return *row;
  return fail(
      ErrorCode::InvalidArgument, "--hidden",
      fmt::format("hidden is {}, expected at least 1 and a row below 2^63 bytes", o.hidden));
}

struct Setting {
  workload::Trace trace;
  Topology topology;
  Placement placement;
  Windows windows;
};

Result<Topology> topology_of(const DescribeOptions& o) {
  if (o.cluster.empty()) {
    return Topology::uniform(o.nodes, o.ranks_per_node, o.rails > 0 ? o.rails : o.ranks_per_node);
  }
  const auto spec = testbed::read_cluster(o.cluster);
  if (!spec) return fail(spec.error());
  return Topology::create(testbed::topology_options(*spec));
}

Result<Setting> setting_of(const DescribeOptions& o) {
  auto topology = topology_of(o);
  if (!topology) return fail(topology.error());
  auto trace = load_trace(o.trace, o.experts, o.seed, true);
  if (!trace) return fail(trace.error());
  auto placement = Placement::contiguous(trace->experts(), topology->ranks());
  if (!placement) return fail(placement.error());
  auto windows = windows_named(o.windows, topology->nodes());
  if (!windows) return fail(windows.error());
  return Setting{*std::move(trace), *std::move(topology), *std::move(placement),
                 *std::move(windows)};
}

report::Description facts(const DescribeOptions& o, const Setting& setting) {
  report::Description out;
  out.trace = o.trace.empty() ? "generated" : std::filesystem::path(o.trace).filename().string();
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
  const auto bytes = row_bytes(o);
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
