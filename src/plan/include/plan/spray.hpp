// Spraying a source's traffic over its rails, longest chunk first: as RailS does. A baseline.
#pragma once

#include <vector>

#include <railwave/topology.hpp>

#include "model/rail_counts.hpp"
#include "plan/rail_balance.hpp"

namespace railwave::plan {

/// Assigns everything that one source sends to its rails by longest processing time: [N], empty for
/// the source itself. Source-local, as RailBalance is; but where RailBalance makes every slice even
/// this makes the source's totals even.
/// The flow of a home rail to a destination is cut into as many chunks as the pair has eligible
/// rails, as equal as whole records allow, the first ones larger. Chunks are taken by descending
/// size, ties by (destination, home rail, position), each to the eligible rail of its pair that is
/// through with it first, by (records so far + chunk) / weight of the source's rail, ties to the
/// rail that comes first counting up from the home rail. On a rail a slice's records keep the order
/// (home rail, index).
/// One limit is ours: a rail carries of one slice at most the larger of its share of the slice
/// by weight, rounded up, and of what is at home there, which is what stages are sized for
/// (plan/capacity.hpp); of a chunk that does not fit the rest goes on to the next best rail.
/// REQUIRES: counts that are not negative and whose sum fits into 64 bits.
/// Integers only. Cost O(N R^2 (R + log(N R))).
/// Source: written from how the RailWave paper (section 5) and the issue of the project describe
/// RailS (Xu et al., 2026): local redistribution of source traffic over rails by longest processing
/// time.
std::vector<SliceAssignment> spray(const Topology& topology, const RailCounts& counts,
                                   NodeId source);

}  // namespace railwave::plan
