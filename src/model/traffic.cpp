#include "model/traffic.hpp"

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "model/imbalance.hpp"

namespace railwave {
namespace {

Status overflow() {
  return fail(ErrorCode::InvalidArgument, "counts", "the counts add up to more than 64 bits");
}

Status add_to(std::int64_t& sum, std::int64_t more) {
  const auto total = checked_add(sum, more);
  if (!total) return overflow();
  sum = *total;
  return {};
}

Status add_to(std::vector<std::int64_t>& sum, const std::vector<std::int64_t>& more) {
  RAILWAVE_CHECK(sum.size() == more.size(), "%zu and %zu counts", sum.size(), more.size());
  for (std::size_t i = 0; i < sum.size(); ++i) RAILWAVE_TRY(add_to(sum[i], more[i]));
  return {};
}

/// Everything that is added up later is part of this sum.
Status check_total(const std::vector<std::int64_t>& counts) {
  std::int64_t sum = 0;
  for (const std::int64_t count : counts) RAILWAVE_TRY(add_to(sum, count));
  return {};
}

std::vector<std::int64_t> source_rails(const RailCounts& counts) {
  std::vector<std::int64_t> rails(static_cast<std::size_t>(counts.rails()), 0);
  for (NodeId s(0); s.value < counts.nodes(); ++s.value) {
    for (RailId r(0); r.value < counts.rails(); ++r.value) {
      for (NodeId d(0); d.value < counts.nodes(); ++d.value) {
        if (s != d) rails[r.index()] += counts.at(s, r, d);
      }
    }
  }
  return rails;
}

std::vector<std::int64_t> destination_rails(const Traffic& traffic, const Topology& topology,
                                            const Placement& placement) {
  std::vector<std::int64_t> rails(static_cast<std::size_t>(topology.rails()), 0);
  for (std::size_t e = 0; e < traffic.expert_counts.size(); ++e) {
    const RailId rail = topology.home_rail(placement.owner(ExpertId(e)));
    rails[rail.index()] += traffic.expert_counts[e];
  }
  return rails;
}

std::vector<std::int64_t> node_demand(const RailCounts& counts) {
  std::vector<std::int64_t> demand;
  for (NodeId s(0); s.value < counts.nodes(); ++s.value) {
    for (NodeId d(0); d.value < counts.nodes(); ++d.value) demand.push_back(counts.slice(s, d));
  }
  return demand;
}

}  // namespace

Status Traffic::add(const Traffic& more) {
  RAILWAVE_TRY(add_to(tokens, more.tokens));
  RAILWAVE_TRY(add_to(expert_counts, more.expert_counts));
  RAILWAVE_TRY(add_to(rank_rows, more.rank_rows));
  return add_to(node_rows, more.node_rows);
}

Result<TrafficFigures> traffic_figures(const Traffic& traffic, const Topology& topology,
                                       const Placement& placement, const Windows& submitted,
                                       std::int64_t row_bytes) {
  RAILWAVE_TRY(check_total(traffic.expert_counts));
  RAILWAVE_TRY(check_total(traffic.node_rows));
  const RailCounts counts = RailCounts::from_ranks(topology, traffic.node_rows);
  auto descriptors = describe(counts, submitted, row_bytes, topology.ranks());
  if (!descriptors) return fail(std::move(descriptors).error());
  TrafficFigures out;
  out.expert_imbalance = max_over_mean(traffic.expert_counts);
  out.source_rails = source_rails(counts);
  out.destination_rails = destination_rails(traffic, topology, placement);
  out.source_imbalance = max_over_mean(out.source_rails);
  out.destination_imbalance = max_over_mean(out.destination_rails);
  out.source_share = largest_share(out.source_rails);
  out.destination_share = largest_share(out.destination_rails);
  out.node_demand = node_demand(counts);
  out.descriptors = *descriptors;
  return out;
}

}  // namespace railwave
