// One rank's routing of one phase, owned.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <railwave/error.hpp>
#include <railwave/ids.hpp>

#include "model/routing.hpp"
#include "workload/trace.hpp"

namespace railwave::workload {

/// Expert ids of one rank's tokens.
struct RankRouting {
  std::int64_t tokens = 0;             ///< T
  int top_k = 1;                       ///< K
  std::vector<std::int64_t> topk_idx;  ///< [T, K] row-major

  /// Borrows topk_idx.
  [[nodiscard]] Routing view() const { return {tokens, top_k, topk_idx}; }
};

/// `--routing trace`: the trace's own ids of one layer. Tokens are dealt to the ranks in equal
/// contiguous parts, the first T mod P one more; each rank keeps its first `max_tokens`.
/// It goes with Placement::contiguous(trace.experts(), ranks) and with all pairs at once (no
/// windows of one's own).
/// Errors: InvalidArgument{routing} when the trace has only counts; {layer}, {ranks}, {rank},
/// {max_tokens} when out of range. Source: DESIGN 5.7.
Result<RankRouting> trace_routing(const Trace& trace, int layer, int ranks, RankId self,
                                  std::optional<std::int64_t> max_tokens = std::nullopt);

}  // namespace railwave::workload
