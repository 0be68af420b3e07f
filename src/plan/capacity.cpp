#include "plan/capacity.hpp"

#include <algorithm>

#include "base/checked.hpp"

namespace railwave::plan {

std::int64_t worst_case_records(const Topology& topology, NodePair slice, RailId egress_rail,
                                std::int64_t max_tokens_per_rank) {
  const auto eligible = topology.eligible(slice.source, slice.destination);
  const auto is_eligible = [&](RailId rail) {
    return std::binary_search(eligible.begin(), eligible.end(), rail);
  };
  if (!is_eligible(egress_rail)) return 0;
  const int ranks = topology.ranks_at(slice.source);
  RAILWAVE_CHECK(max_tokens_per_rank >= 0 && checked_mul(max_tokens_per_rank, ranks),
                 "%lld tokens on each of %d ranks", static_cast<long long>(max_tokens_per_rank),
                 ranks);
  std::int64_t at_home = 0;
  std::int64_t stranded = 0;
  for (int local = 0; local < ranks; ++local) {
    const RailId home = topology.home_rail(topology.rank_at(slice.source, local));
    if (home == egress_rail) ++at_home;
    if (!is_eligible(home)) ++stranded;
  }
  const auto m = static_cast<std::int64_t>(eligible.size());
  const std::int64_t kept =
      max_tokens_per_rank * at_home + ceil_div(max_tokens_per_rank * stranded, m);
  std::int64_t weights = 0;
  for (const RailId rail : eligible) weights += topology.weight(slice, rail);
  const __int128 ideal =
      static_cast<__int128>(max_tokens_per_rank * ranks) * topology.weight(slice, egress_rail);
  const auto balanced = static_cast<std::int64_t>((ideal + weights - 1) / weights);
  return std::max(kept, balanced);
}

}  // namespace railwave::plan
