#include "workload/trace_traffic.hpp"

#include <fmt/format.h>

#include "base/fail.hpp"
#include "model/routing.hpp"
#include "workload/rank_routing.hpp"

namespace railwave::workload {
namespace {

Status check(const Trace& trace, int layer, const Topology& topology, const Placement& placement) {
  if (layer < 0 || layer >= trace.layers()) {
    return fail(ErrorCode::InvalidArgument, "layer",
                fmt::format("layer {} is not below the trace's {}", layer, trace.layers()));
  }
  if (placement.experts() == trace.experts() && placement.ranks() == topology.ranks()) return {};
  return fail(
      ErrorCode::InvalidArgument, "placement",
      fmt::format("{} experts on {} ranks, expected the trace's {} on the cluster's {}",
                  placement.experts(), placement.ranks(), trace.experts(), topology.ranks()));
}

Traffic empty_traffic(const Trace& trace, int layer, const Topology& topology) {
  const auto ranks = static_cast<std::size_t>(topology.ranks());
  Traffic out;
  out.tokens = trace.tokens();
  out.expert_counts = trace.expert_counts(layer);
  out.rank_rows.assign(ranks * ranks, 0);
  out.node_rows.assign(ranks * static_cast<std::size_t>(topology.nodes()), 0);
  return out;
}

Status add_ids(Traffic& out, const Trace& trace, int layer, const Topology& topology,
               const Placement& placement) {
  const auto ranks = static_cast<std::size_t>(topology.ranks());
  const auto nodes = static_cast<std::size_t>(topology.nodes());
  for (std::size_t p = 0; p < ranks; ++p) {
    const auto routing = trace_routing(trace, layer, topology.ranks(), RankId(p));
    if (!routing) return fail(routing.error());
    const Layout layout = Layout::of(routing->view(), placement, topology);
    for (std::size_t q = 0; q < ranks; ++q) {
      out.rank_rows[p * ranks + q] = layout.tokens_per_rank[q];
    }
    for (std::size_t n = 0; n < nodes; ++n) {
      out.node_rows[p * nodes + n] = layout.tokens_per_node[n];
    }
  }
  return {};
}

/// The ranks of one source: [first, first + ranks).
struct Share {
  std::int64_t first;
  std::int64_t ranks;
};

Share share_of(std::int64_t source, std::int64_t sources, std::int64_t ranks) {
  if (sources >= ranks) return {source * ranks / sources, 1};
  // The least p with floor(p S / P) = i is ceil(i P / S).
  const auto first = [&](std::int64_t i) { return (i * ranks + sources - 1) / sources; };
  return {first(source), first(source + 1) - first(source)};
}

void add_counts(Traffic& out, const Trace& trace, int layer, const Topology& topology,
                const Placement& placement) {
  const auto ranks = static_cast<std::size_t>(topology.ranks());
  const auto nodes = static_cast<std::size_t>(topology.nodes());
  const auto experts = static_cast<std::size_t>(trace.experts());
  const auto counts = trace.source_counts(layer);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto source = static_cast<std::int64_t>(i / experts);
    const ExpertId expert(i % experts);
    const RankId owner = placement.owner(expert);
    const Share share = share_of(source, trace.sources(), topology.ranks());
    for (std::int64_t k = 0; k < share.ranks; ++k) {
      const bool more =
          (k + share.ranks - expert.value % share.ranks) % share.ranks < counts[i] % share.ranks;
      const std::int64_t rows = counts[i] / share.ranks + (more ? 1 : 0);
      const auto p = static_cast<std::size_t>(share.first + k);
      out.rank_rows[p * ranks + owner.index()] += rows;
      out.node_rows[p * nodes + topology.node_of(owner).index()] += rows;
    }
  }
}

}  // namespace

Result<Traffic> layer_traffic(const Trace& trace, int layer, const Topology& topology,
                              const Placement& placement) {
  RAILWAVE_TRY(check(trace, layer, topology, placement));
  Traffic out = empty_traffic(trace, layer, topology);
  if (trace.has_ids()) {
    RAILWAVE_TRY(add_ids(out, trace, layer, topology, placement));
  } else {
    add_counts(out, trace, layer, topology, placement);
  }
  return out;
}

Result<std::vector<std::int64_t>> routed_node_rows(const Trace& trace, int layer,
                                                   const Topology& topology,
                                                   const Placement& placement,
                                                   std::optional<std::int64_t> max_tokens) {
  RAILWAVE_TRY(check(trace, layer, topology, placement));
  const auto nodes = static_cast<std::size_t>(topology.nodes());
  std::vector<std::int64_t> rows(static_cast<std::size_t>(topology.ranks()) * nodes, 0);
  std::vector<std::int64_t> last_token(nodes, -1);  // that was counted for the node
  std::int64_t next = 0;
  for (RankId p(0); p.value < topology.ranks(); ++p.value) {
    const auto routing = trace_routing(trace, layer, topology.ranks(), p, max_tokens);
    if (!routing) return fail(routing.error());
    for (std::int64_t slot = 0; slot < std::ssize(routing->topk_idx); ++slot) {
      const std::int64_t expert = routing->topk_idx[static_cast<std::size_t>(slot)];
      const std::int64_t token = next + slot / routing->top_k;
      if (expert < 0) continue;
      const NodeId node =
          topology.node_of(placement.owner(ExpertId(static_cast<std::int32_t>(expert))));
      if (last_token[node.index()] == token) continue;
      last_token[node.index()] = token;
      ++rows[p.index() * nodes + node.index()];
    }
    next += routing->tokens;
  }
  return rows;
}

}  // namespace railwave::workload
