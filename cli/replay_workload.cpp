#include "replay_workload.hpp"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/fail.hpp"
#include "model/routing.hpp"
#include "workload/generator.hpp"
#include "workload/trace_reader.hpp"

namespace railwave::cli {

Result<workload::Trace> load_trace(const std::string& file, int experts, std::uint64_t seed,
                                   bool with_ids) {
  if (!file.empty()) {
    workload::TraceReadOptions read;
    read.experts = experts;
    return workload::read_trace(file, read);
  }
  workload::GeneratorOptions generator;
  generator.seed = seed;
  if (experts > 0) generator.experts = experts;
  return with_ids ? workload::generate_ids(generator) : workload::generate_counts(generator);
}

namespace {

Result<int> ranks_per_node(const Topology& topology) {
  const int ranks = topology.ranks_at(NodeId(0));
  for (int n = 1; n < topology.nodes(); ++n) {
    if (topology.ranks_at(NodeId(n)) == ranks) continue;
    return fail(ErrorCode::InvalidArgument, "--cluster",
                "a schedule needs the same number of ranks on every node; use --routing trace");
  }
  return ranks;
}

}  // namespace

void ReplayWorkload::add(ReplayLayer layer, const Topology& topology) {
  const auto ranks = static_cast<std::size_t>(topology.ranks());
  std::vector<std::int64_t> records;
  std::vector<std::int64_t> rows(ranks, 0);
  for (const workload::RankRouting& routing : layer.routing) {
    const Layout layout = Layout::of(routing.view(), placement, topology);
    records.insert(records.end(), layout.tokens_per_node.begin(), layout.tokens_per_node.end());
    for (std::size_t q = 0; q < ranks; ++q) rows[q] += layout.tokens_per_rank[q];
    max_tokens = std::max(max_tokens, routing.tokens);
  }
  layer.counts = RailCounts::from_ranks(topology, records);
  max_recv_rows = std::max(max_recv_rows, *std::max_element(rows.begin(), rows.end()));
  layer.row_copies = std::accumulate(rows.begin(), rows.end(), std::int64_t{0});
  layers.push_back(std::move(layer));
}

std::vector<workload::RowIdentity> ReplayWorkload::received(std::size_t layer, RankId rank) const {
  std::vector<workload::RowIdentity> rows;
  for (std::size_t p = 0; p < layers[layer].routing.size(); ++p) {
    const workload::RankRouting& routing = layers[layer].routing[p];
    for (std::int64_t t = 0; t < routing.tokens; ++t) {
      const auto first = routing.topk_idx.begin() + t * routing.top_k;
      const bool here = std::any_of(first, first + routing.top_k, [&](std::int64_t expert) {
        return expert >= 0 && placement.owner(ExpertId(static_cast<std::int32_t>(expert))) == rank;
      });
      if (here) rows.push_back({RankId(p), t});
    }
  }
  return rows;
}

namespace {

Result<ReplayLayer> scheduled_layer(const ReplayOptions& options, const ReplayRequest& request,
                                    const workload::Trace& trace, int layer,
                                    const workload::ReplayCluster& cluster) {
  workload::ReplayPhase::Options phase;
  phase.schedule = request.schedule;
  phase.order = request.order;
  if (options.payload_mib > 0) phase.payload_mib = options.payload_mib;
  phase.row_bytes = options.hidden * element_bytes(request.dtype);
  const auto made = workload::ReplayPhase::create(cluster, trace.expert_counts(layer), phase);
  if (!made) return fail(made.error());
  ReplayLayer out;
  out.windows = made->windows();
  for (int p = 0; p < cluster.nodes * cluster.ranks_per_node; ++p) {
    out.routing.push_back(made->routing(RankId(p)));
  }
  return out;
}

Result<ReplayLayer> traced_layer(const ReplayOptions& options, const workload::Trace& trace,
                                 int layer, int ranks) {
  ReplayLayer out;
  for (int p = 0; p < ranks; ++p) {
    auto routing = workload::trace_routing(
        trace, layer, ranks, RankId(p),
        options.max_tokens > 0 ? std::optional(options.max_tokens) : std::nullopt);
    if (!routing) return fail(routing.error());
    out.routing.push_back(*std::move(routing));
  }
  return out;
}

}  // namespace

Result<ReplayWorkload> make_workload(const ReplayOptions& options, const ReplayRequest& request,
                                     const Topology& topology) {
  const auto trace = load_trace(options.trace, options.experts, options.seed, request.by_trace);
  if (!trace) return fail(trace.error());
  const int experts =
      request.by_trace ? trace->experts() : std::max(trace->experts(), topology.ranks());
  auto placement = Placement::contiguous(experts, topology.ranks());
  if (!placement) return fail(placement.error());
  ReplayWorkload work{options.trace.empty()
                          ? std::string("generated")
                          : std::filesystem::path(options.trace).filename().string(),
                      *std::move(placement),
                      request.by_trace ? trace->top_k() : 1,
                      0,
                      0,
                      {}};
  const int layers =
      options.layers > 0 ? std::min(options.layers, trace->layers()) : trace->layers();
  workload::ReplayCluster cluster{topology.nodes(), 1};
  if (!request.by_trace) {
    const auto per_node = ranks_per_node(topology);
    if (!per_node) return fail(per_node.error());
    cluster.ranks_per_node = *per_node;
  }
  for (int l = 0; l < layers; ++l) {
    auto layer = request.by_trace ? traced_layer(options, *trace, l, topology.ranks())
                                  : scheduled_layer(options, request, *trace, l, cluster);
    if (!layer) return fail(layer.error());
    work.add(*std::move(layer), topology);
  }
  return work;
}

}  // namespace railwave::cli
