#include "workload/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "workload/schedule_windows.hpp"

namespace railwave::workload {
namespace {

constexpr std::array<std::int64_t, 3> kNodeSkewWeights{1, 2, 3};

bool is_family(Schedule schedule) {
  return schedule == Schedule::NodeSkew || schedule == Schedule::RailSkew;
}

int least_nodes(Schedule schedule) {
  if (schedule == Schedule::Moderate || schedule == Schedule::Extreme) return 3;
  return is_family(schedule) ? 4 : 2;
}

Status check_cluster(ReplayCluster cluster, Schedule schedule) {
  const auto too_small = [](const char* field, int value, int least) {
    return fail(ErrorCode::InvalidArgument, field,
                fmt::format("{} is {}, expected at least {}", field, value, least));
  };
  const auto ranks = checked_mul(cluster.nodes, cluster.ranks_per_node);
  if (cluster.nodes < 2) return too_small("nodes", cluster.nodes, 2);
  if (cluster.ranks_per_node < 1) return too_small("ranks_per_node", cluster.ranks_per_node, 1);
  if (!ranks || *ranks > std::numeric_limits<std::int32_t>::max()) {
    return fail(ErrorCode::InvalidArgument, "nodes",
                fmt::format("{} nodes of {} ranks are more than 2^31 - 1 ranks", cluster.nodes,
                            cluster.ranks_per_node));
  }
  if (const int least = least_nodes(schedule); cluster.nodes < least) {
    return fail(ErrorCode::Unsupported, "schedule",
                fmt::format("schedule {} is defined for at least {} nodes, the cluster has {}; use "
                            "ring or all-at-once",
                            to_string(schedule), least, cluster.nodes));
  }
  return {};
}

/// The sum of the counts. Errors: InvalidArgument{expert_counts}.
Result<std::int64_t> checked_sum(std::span<const std::int64_t> counts, int nodes) {
  std::optional<std::int64_t> sum = 0;
  for (std::size_t e = 0; e < counts.size() && sum; ++e) {
    if (counts[e] < 0) {
      return fail(ErrorCode::InvalidArgument, "expert_counts",
                  fmt::format("expert {} has the count {}", e, counts[e]));
    }
    sum = checked_add(*sum, counts[e]);
  }
  if (counts.empty() || !sum || !checked_mul(*sum, nodes)) {
    return fail(ErrorCode::InvalidArgument, "expert_counts",
                counts.empty() ? "expected at least one expert"
                               : "the volume over all nodes leaves 64 bits");
  }
  return *sum;
}

/// Rows of the whole phase: floor(x * 2^20 * P / row_bytes).
Result<std::int64_t> payload_rows(double payload_mib, int ranks, std::int64_t row_bytes) {
  constexpr double kExactIntegers = 9007199254740992.0;  // 2^53
  const double bytes = std::floor(payload_mib * 1048576.0 * ranks);
  if (!(payload_mib >= 0) || !(bytes < kExactIntegers)) {
    return fail(ErrorCode::InvalidArgument, "payload_mib",
                fmt::format("payload_mib is {}, expected 0 to 2^33 / ranks", payload_mib));
  }
  if (row_bytes < 1) {
    return fail(ErrorCode::InvalidArgument, "row_bytes",
                fmt::format("row_bytes is {}, expected at least 1", row_bytes));
  }
  return static_cast<std::int64_t>(bytes) / row_bytes;
}

/// [G] how a sending node's volume lies on its ranks.
std::vector<std::int64_t> rank_weights(int ranks_per_node, std::span<const std::int64_t> counts,
                                       const ReplayPhase::Options& options) {
  if (!is_family(options.schedule)) return bin_counts(counts, ranks_per_node, options.order);
  std::vector<std::int64_t> weights(static_cast<std::size_t>(ranks_per_node), 1);
  if (options.schedule == Schedule::RailSkew) {
    std::fill(weights.begin() + ceil_div(ranks_per_node, 4), weights.end(), 0);
  }
  return weights;
}

/// [N] how the volume of the phase lies on the nodes.
std::vector<std::int64_t> node_weights(int nodes, Schedule schedule) {
  std::vector<std::int64_t> weights(static_cast<std::size_t>(nodes), is_family(schedule) ? 0 : 1);
  for (std::size_t i = 0; is_family(schedule) && i < kNodeSkewWeights.size(); ++i) {
    weights[i + 1] = schedule == Schedule::NodeSkew ? kNodeSkewWeights[i] : 1;
  }
  return weights;
}

/// [N] the nodes to which each node sends, in turn.
std::vector<std::vector<NodeId>> destinations(int nodes, Schedule schedule) {
  std::vector<std::vector<NodeId>> out(static_cast<std::size_t>(nodes));
  for (int s = 0; s < nodes; ++s) {
    auto& to = out[static_cast<std::size_t>(s)];
    if (is_family(schedule)) {
      if (s >= 1 && s <= std::ssize(kNodeSkewWeights)) to.emplace_back(0);
      continue;
    }
    const int last = schedule == Schedule::Ring ? 1 : nodes - 1;
    for (int step = 1; step <= last; ++step) to.emplace_back((s + step) % nodes);
  }
  return out;
}

Windows windows_of(Schedule schedule, std::span<const std::vector<NodeId>> destinations) {
  const int nodes = static_cast<int>(destinations.size());
  if (schedule == Schedule::Moderate) return moderate_windows(nodes);
  if (schedule == Schedule::Extreme) return extreme_windows(nodes);
  Window all;
  for (std::size_t s = 0; s < destinations.size(); ++s) {
    for (const NodeId d : destinations[s]) all.push_back({NodeId(s), d});
  }
  return {std::move(all)};
}

/// [P] rows that leave each rank.
std::vector<std::int64_t> rank_rows(ReplayCluster cluster, std::span<const std::int64_t> counts,
                                    std::int64_t total, const ReplayPhase::Options& options) {
  const auto of_rank = rank_weights(cluster.ranks_per_node, counts, options);
  const auto of_node = apportion(total, node_weights(cluster.nodes, options.schedule));
  std::vector<std::int64_t> rows;
  for (const std::int64_t volume : of_node) {
    const auto bins = apportion(volume, of_rank);
    rows.insert(rows.end(), bins.begin(), bins.end());
  }
  return rows;
}

}  // namespace

ReplayPhase::ReplayPhase(ReplayCluster cluster, Schedule schedule, Placement placement)
    : cluster_(cluster),
      to_whole_node_(is_family(schedule)),
      placement_(std::move(placement)),
      destinations_(destinations(cluster.nodes, schedule)) {
  windows_ = windows_of(schedule, destinations_);
}

Result<ReplayPhase> ReplayPhase::create(ReplayCluster cluster,
                                        std::span<const std::int64_t> expert_counts,
                                        const Options& options) {
  RAILWAVE_TRY(check_cluster(cluster, options.schedule));
  const auto sum = checked_sum(expert_counts, cluster.nodes);
  if (!sum) return fail(sum.error());
  const int ranks = cluster.nodes * cluster.ranks_per_node;
  std::int64_t total = *sum * cluster.nodes;
  if (options.payload_mib) {
    const auto scaled = payload_rows(*options.payload_mib, ranks, options.row_bytes);
    if (!scaled) return fail(scaled.error());
    total = *scaled;
  }
  if (total > 0 && *sum == 0 && !is_family(options.schedule)) {
    return fail(ErrorCode::InvalidArgument, "expert_counts",
                "a layer without tokens can not be scaled to a payload");
  }
  auto placement =
      Placement::contiguous(std::max(static_cast<int>(expert_counts.size()), ranks), ranks);
  if (!placement) return fail(std::move(placement).error());
  ReplayPhase phase(cluster, options.schedule, std::move(*placement));
  phase.rows_ = rank_rows(cluster, expert_counts, total, options);
  return phase;
}

std::int64_t ReplayPhase::rows_to(RankId rank, std::size_t destination) const {
  const auto node = rank.index() / static_cast<std::size_t>(cluster_.ranks_per_node);
  const std::int64_t ways = std::ssize(destinations_[node]);
  const std::int64_t rows = rows_[rank.index()];
  return rows / ways + (std::cmp_less(destination, rows % ways) ? 1 : 0);
}

RankRouting ReplayPhase::routing(RankId rank) const {
  const int per_node = cluster_.ranks_per_node;
  const int local = rank.value % per_node;
  const auto& to = destinations_[rank.index() / static_cast<std::size_t>(per_node)];
  RankRouting out;
  out.tokens = tokens(rank);
  out.topk_idx.reserve(static_cast<std::size_t>(out.tokens));
  for (std::int64_t token = 0; token < out.tokens; ++token) {
    const NodeId node = to[static_cast<std::size_t>(token % std::ssize(to))];
    const std::int64_t turn = token / std::ssize(to);
    const auto shift = to_whole_node_ ? (local + turn) % per_node : local;
    const auto experts = placement_.owned(RankId(node.value * per_node + static_cast<int>(shift)));
    const auto round = to_whole_node_ ? turn / per_node : turn;
    out.topk_idx.push_back(experts[static_cast<std::size_t>(round % std::ssize(experts))].value);
  }
  return out;
}

std::vector<std::int64_t> ReplayPhase::node_rows() const {
  const auto nodes = static_cast<std::size_t>(cluster_.nodes);
  std::vector<std::int64_t> out(rows_.size() * nodes, 0);
  for (std::size_t p = 0; p < rows_.size(); ++p) {
    const auto& to = destinations_[p / static_cast<std::size_t>(cluster_.ranks_per_node)];
    for (std::size_t i = 0; i < to.size(); ++i) {
      out[p * nodes + to[i].index()] = rows_to(RankId(p), i);
    }
  }
  return out;
}

std::int64_t ReplayPhase::rows(NodePair pair) const {
  const auto& to = destinations_[pair.source.index()];
  const auto at = std::ranges::find(to, pair.destination);
  if (at == to.end()) return 0;
  std::int64_t sum = 0;
  for (int local = 0; local < cluster_.ranks_per_node; ++local) {
    const RankId rank(pair.source.value * cluster_.ranks_per_node + local);
    sum += rows_to(rank, static_cast<std::size_t>(at - to.begin()));
  }
  return sum;
}

std::int64_t ReplayPhase::bin_rows(int bin) const {
  std::int64_t sum = 0;
  for (int node = 0; node < cluster_.nodes; ++node) {
    sum += tokens(RankId(node * cluster_.ranks_per_node + bin));
  }
  return sum;
}

std::int64_t ReplayPhase::total_rows() const {
  return std::accumulate(rows_.begin(), rows_.end(), std::int64_t{0});
}

}  // namespace railwave::workload
