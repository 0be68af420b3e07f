// The router's answer for one rank's tokens, and what follows from it.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include <railwave/error.hpp>
#include <railwave/ids.hpp>
#include <railwave/placement.hpp>
#include <railwave/topology.hpp>

#include "base/memory.hpp"

namespace railwave {

/// Expert ids of one rank's tokens, borrowed from the caller. Slot -1 means no expert.
struct Routing {
  std::int64_t tokens = 0;                 ///< T
  int top_k = 0;                           ///< K
  std::span<const std::int64_t> topk_idx;  ///< [T, K] row-major

  /// Errors: InvalidArgument naming `self`, the field (top_k, topk_idx, expert_id), token, slot and
  /// value: wrong extent, K < 1, K > experts, an id outside [-1, experts). All 64 bits are
  /// compared.
  [[nodiscard]] Status check(const Placement& placement, RankId self) const;
};

/// DeepEP's dispatch layout of one rank's tokens (DESIGN section 4). REQUIRES: a checked routing.
/// Shapes: P ranks, N nodes, E experts, T tokens.
struct Layout {
  std::pmr::vector<std::int64_t>
      tokens_per_rank;  ///< [P] distinct tokens with an expert on the rank
  std::pmr::vector<std::int64_t>
      tokens_per_node;  ///< [N] distinct tokens with an expert on the node
  std::pmr::vector<std::int64_t> tokens_per_expert;  ///< [E] (token, slot) pairs
  std::pmr::vector<std::uint8_t> token_in_rank;      ///< [T, P] 1 where the token goes to the rank

  static Layout of(const Routing& routing, const Placement& placement, const Topology& topology);
  /// The counts alone: token_in_rank stays empty.
  static Layout counts_of(const Routing& routing, const Placement& placement,
                          const Topology& topology,
                          Memory* memory = std::pmr::get_default_resource());
};

}  // namespace railwave
