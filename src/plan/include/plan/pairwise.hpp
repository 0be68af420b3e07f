// Pairwise exchange: what MPI libraries do for long messages. A baseline.
#pragma once

#include <memory_resource>

#include <railwave/path.hpp>

#include "base/memory.hpp"

namespace railwave::plan {

/// Rounds of a round-robin tournament: in every round a node exchanges with one partner, both ways
/// at once, and every unordered pair of nodes meets in exactly one round.
///   N a power of two: N-1 rounds, in round k = 1..N-1 node s meets s XOR k;
///   any other even N: N-1 rounds by the circle method, node N-1 stays in its place;
///   N odd: N rounds by the circle method of N+1 nodes, who meets the missing node is idle.
/// Unlike a wave (plan/waves.hpp), where a node sends to one node and receives from another, a
/// node's two directions share one partner here, so that a round is as long as the longer direction
/// of its largest exchange; and with N odd there is one round more than waves. N = 1 has none.
/// Pairs of a round ascend by source. Source: Thakur, Rabenseifner and Gropp (2005).
Windows pairwise_rounds(int nodes, Memory* memory = std::pmr::get_default_resource());

}  // namespace railwave::plan
