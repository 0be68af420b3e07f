#include "replay_workload.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "limits.hpp"
#include "model/routing.hpp"
#include "trace_phases.hpp"

namespace railwave::cli {

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

Result<ReplayWorkload> make_workload(const ReplayOptions& options, const ReplayRequest& request,
                                     const Topology& topology) {
  const auto phases = TracePhases::open(options, request, topology);
  if (!phases) return fail(phases.error());
  ReplayWorkload work{phases->name(), phases->placement(), phases->top_k(), 0, 0, {}};
  std::int64_t slots = 0;
  for (int l = 0; l < phases->layers(); ++l) {
    auto sent = phases->routing(l);
    if (!sent) return fail(sent.error());
    for (const workload::RankRouting& routing : sent->routing)
      slots += std::ssize(routing.topk_idx);
    RAILWAVE_TRY(fits_memory("--layers", checked_mul(slots, sizeof(std::int64_t)),
                             fmt::format("the rows of {} layers", l + 1)));
    work.add({std::move(sent->windows), std::move(sent->routing)}, topology);
  }
  return work;
}

}  // namespace railwave::cli
