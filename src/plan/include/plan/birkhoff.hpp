// Birkhoff stages of the node demand: what FAST plans for every phase. A baseline.
#pragma once

#include <cstdint>
#include <vector>

#include <railwave/ids.hpp>

#include "model/rail_counts.hpp"

namespace railwave::plan {

/// What one pair sends in one stage.
struct StagePart {
  NodePair pair;
  std::int64_t records = 0;
  friend bool operator==(const StagePart&, const StagePart&) = default;
};

/// One matching of senders and receivers: no node sends twice, none receives twice.
struct Stage {
  std::int64_t length = 0;       ///< records that every node sends in it, padding included
  std::vector<StagePart> parts;  ///< ascending by source; at least one, each of at least one record
};

/// Decomposes the node demand B[s,d] into matchings (Birkhoff-von Neumann). Rows and columns are
/// padded to the largest row or column sum, rows in order, into the first columns that lack
/// something; then, as long as something is left, the lexicographically first perfect matching of
/// the entries that are left (the first row has the lowest column with which there is one, then the
/// second, ...) is taken off as often as its least entry allows. The stages are
/// ordered by length, the longest first, equal ones as they were found. Padding fills the last
/// stages of its entry, carries nothing, and stages of nothing but padding are left out.
/// At most N^2 - 2N + 2 stages; the lengths add up to at most the padded sum, so that with rails
/// balanced and barriers between stages the demand takes no longer than its lower bound, but for
/// the rounding of records to rails.
/// REQUIRES: counts that are not negative and whose sum fits into 64 bits.
/// The stages are fully determined: the same on every rank, machine and build.
/// Cost: a maximum matching of the N x N entries for every stage, O(N^5) and more in the worst
/// case. Source: written from how the RailWave paper (sections 1 and 5) describes FAST (Lei et al.,
/// 2026).
std::vector<Stage> birkhoff_stages(const RailCounts& counts);

/// Cuts the rail loads [R] of one pair into its stages: `amounts` [k] records a stage, in order,
/// that add up to the loads. Row i [R] of the result [k, R] adds up to amounts[i] and is as even a
/// share of what is left on each rail as whole records allow: left-over records go to the rails
/// with the largest fraction, ties to the lower rail. Exact.
std::vector<std::int64_t> split_over_stages(std::vector<std::int64_t> loads,
                                            const std::vector<std::int64_t>& amounts);

}  // namespace railwave::plan
