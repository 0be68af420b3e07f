// Windows: the caller's, checked, and the cyclic permutation waves (paper section 3.2, eq. 10).
#pragma once

#include <memory_resource>
#include <span>

#include <railwave/error.hpp>
#include <railwave/path.hpp>

#include "model/rail_counts.hpp"

namespace railwave::plan {

/// Wave k = 1..N-1: node s sends to (s + k) mod N. N = 1 has none.
Windows permutation_waves(int nodes, Memory* memory = std::pmr::get_default_resource());

/// One window with every remote ordered pair, ascending. N = 1: no window.
Windows single_window(int nodes, Memory* memory = std::pmr::get_default_resource());

/// The caller's windows, or single_window() when `submitted` is empty.
/// Errors: InvalidArgument{windows} naming the pair: a node out of range, a pair with itself, a
/// pair twice, a pair with records that is in no window.
Result<Windows> checked_windows(std::span<const Window> submitted, const RailCounts& counts,
                                Memory* memory = std::pmr::get_default_resource());

/// Each pair reversed, the order kept: what combine runs.
Windows reversed(const Windows& windows);

}  // namespace railwave::plan
