#include "model/routing.hpp"

#include <fmt/format.h>

#include "base/checked.hpp"
#include "base/fail.hpp"

namespace railwave {
namespace {

Status check_extent(const Routing& routing, const Placement& placement, RankId self) {
  if (routing.top_k < 1 || routing.top_k > placement.experts()) {
    return fail(ErrorCode::InvalidArgument, self, "top_k",
                fmt::format("top_k {} with num_experts {}; it must be in [1, num_experts]",
                            routing.top_k, placement.experts()));
  }
  const auto slots = checked_mul(routing.tokens, routing.top_k);
  if (routing.tokens < 0 || !slots ||
      static_cast<std::uint64_t>(*slots) != routing.topk_idx.size()) {
    return fail(ErrorCode::InvalidArgument, self, "topk_idx",
                fmt::format("{} ids given, expected tokens x top_k = {} x {}",
                            routing.topk_idx.size(), routing.tokens, routing.top_k));
  }
  return {};
}

/// What has been counted for the token at hand: the last token that a rank or node was met in.
class LastToken {
 public:
  LastToken(std::size_t size, Memory* memory) : last_(size, -1, memory) {}
  /// True the first time `index` is met in `token`.
  bool first(std::size_t index, std::int64_t token) {
    if (last_[index] == token) return false;
    last_[index] = token;
    return true;
  }

 private:
  std::pmr::vector<std::int64_t> last_;
};

}  // namespace

Status Routing::check(const Placement& placement, RankId self) const {
  RAILWAVE_TRY(check_extent(*this, placement, self));
  for (std::size_t i = 0; i < topk_idx.size(); ++i) {
    if (topk_idx[i] >= -1 && topk_idx[i] < placement.experts()) continue;
    const auto k = static_cast<std::size_t>(top_k);
    return fail(ErrorCode::InvalidArgument, self, "expert_id",
                fmt::format("token {}, slot {}: value {} is neither -1 nor in [0, {})", i / k,
                            i % k, topk_idx[i], placement.experts()));
  }
  return {};
}

Layout Layout::counts_of(const Routing& routing, const Placement& placement,
                         const Topology& topology, Memory* memory) {
  const auto ranks = static_cast<std::size_t>(topology.ranks());
  const auto nodes = static_cast<std::size_t>(topology.nodes());
  using Counts = std::pmr::vector<std::int64_t>;
  Layout layout{Counts(ranks, 0, memory), Counts(nodes, 0, memory),
                Counts(static_cast<std::size_t>(placement.experts()), 0, memory),
                std::pmr::vector<std::uint8_t>(memory)};
  LastToken rank_met(ranks, memory);
  LastToken node_met(nodes, memory);
  const auto top_k = static_cast<std::size_t>(routing.top_k);
  for (std::size_t i = 0; i < routing.topk_idx.size(); ++i) {
    if (routing.topk_idx[i] < 0) continue;
    const ExpertId expert(static_cast<std::int32_t>(routing.topk_idx[i]));
    const auto token = static_cast<std::int64_t>(i / top_k);
    const RankId rank = placement.owner(expert);
    const NodeId node = topology.node_of(rank);
    ++layout.tokens_per_expert[expert.index()];
    if (rank_met.first(rank.index(), token)) ++layout.tokens_per_rank[rank.index()];
    if (node_met.first(node.index(), token)) ++layout.tokens_per_node[node.index()];
  }
  return layout;
}

Layout Layout::of(const Routing& routing, const Placement& placement, const Topology& topology) {
  Layout layout = counts_of(routing, placement, topology);
  const auto ranks = static_cast<std::size_t>(topology.ranks());
  const auto top_k = static_cast<std::size_t>(routing.top_k);
  layout.token_in_rank.assign(static_cast<std::size_t>(routing.tokens) * ranks, 0);
  for (std::size_t i = 0; i < routing.topk_idx.size(); ++i) {
    if (routing.topk_idx[i] < 0) continue;
    const ExpertId expert(static_cast<std::int32_t>(routing.topk_idx[i]));
    layout.token_in_rank[i / top_k * ranks + placement.owner(expert).index()] = 1;
  }
  return layout;
}

}  // namespace railwave
