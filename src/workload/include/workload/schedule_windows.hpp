// The windows of the replay schedules, for any number of nodes (paper Table 8; docs/schedules.md).
#pragma once

#include <vector>

#include <railwave/path.hpp>

#include "workload/schedule.hpp"

namespace railwave::workload {

/// N - 1 windows in which every node sends once, with every ordered pair exactly once. Nodes in the
/// order evens, then odds, form a ring. Shifts along it are taken three at a time, k+1, k, k+2, a
/// window each; in the first and the third every fourth node of the ring, from its second on,
/// sends what it would send in the other. A last group of two is k, k+1, exchanged likewise; a last
/// single one is a permutation. N = 4 gives Table 8. REQUIRES: nodes >= 3.
Windows moderate_windows(int nodes);

/// N - 1 windows as above: every node sends to 0, N-1, ..., 1 in this order, without itself; node 0
/// begins with 1. N = 4 gives Table 8. REQUIRES: nodes >= 3.
Windows extreme_windows(int nodes);

/// The most senders of one receiver in each window, by formula; w = 1, 2, ...
///   Ring       [1]
///   Moderate   2; but 1 in the middle of three and in a last single one: w = 3i + 2 < N - 1, and
///              w = N - 1 when that is 3i + 1. At N = 4: [2, 1, 2]
///   Extreme    N - 1, then max(N + 1 - w, w - 1). At N = 4: [3, 3, 2]
///   AllAtOnce  [N - 1]
///   NodeSkew, RailSkew  [3]
/// REQUIRES: nodes as the schedule does.
std::vector<int> peak_fan_in(Schedule schedule, int nodes);

}  // namespace railwave::workload
