// RailBalance: which rail carries each record of a slice (paper section 3.1, Algorithm 1).
#pragma once

#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include <railwave/ids.hpp>
#include <railwave/topology.hpp>

#include "model/rail_counts.hpp"

namespace railwave::plan {

/// `count` consecutive records of home rail `home`, from record `first`, occupy `count` consecutive
/// slots of rail `rail`, from `slot`. home == rail where they stay.
struct Segment {
  RailId home;
  std::int64_t first = 0;
  RailId rail;
  std::int64_t slot = 0;
  std::int64_t count = 0;
  friend bool operator==(const Segment&, const Segment&) = default;
};

/// The rails of one slice (s, d). Every record (home, index) is in exactly one segment; the slots
/// of a rail are 0..load-1 without gaps.
struct SliceAssignment {
  std::pmr::vector<Segment> by_home;    ///< ascending (home, first)
  std::pmr::vector<Segment> by_rail;    ///< the same segments, ascending (rail, slot)
  std::pmr::vector<std::int64_t> load;  ///< [R] records each rail carries
};

/// start(s,d) for all d of one source (DESIGN 5.1): (s + sum of remainders of the slices before)
/// mod m. -1 where d == s. Cost O(N * R).
std::pmr::vector<int> remainder_starts(const Topology& topology, const RailCounts& counts,
                                       NodeId source);
/// The same from the records of the source's slices, [N], which are RailCounts::slices. Cost O(N).
std::pmr::vector<int> remainder_starts(const Topology& topology,
                                       std::span<const std::int64_t> slices, NodeId source,
                                       Memory* memory = std::pmr::get_default_resource());

/// Q[r] of slice (s, d), 0 outside the eligible set. `start` from remainder_starts. Cost O(R); a
/// source with uneven rails O(N R log R), as weighted_quotas, of which this is one row.
std::pmr::vector<std::int64_t> slice_quotas(const Topology& topology, const RailCounts& counts,
                                            NodePair slice, int start,
                                            Memory* memory = std::pmr::get_default_resource());

/// Q[d, r] of every slice of a source, [N, R] row-major, for rails of different weights. A slice
/// of B records with weights w, of which W is the sum over its eligible rails, has the ideal share
/// B w_r / W; rail r is given floor(B w_r / W). Then, destinations ascending, each of the
/// left-over records goes to another rail whose share is not whole (there are more of those than
/// records): to those that are furthest behind, which is the sum over d' <= d of ideal share less
/// what was given before; ties by (j - start) mod m. So a quota is the ideal share rounded down or
/// up, and a rail whose share is whole gets that share even when it is further behind than all
/// others: no stage has to hold more than a rounded share (plan/capacity.hpp). Exact. Where all
/// weights and eligible sets are equal this is the rule of slice_quotas; that rule is used for
/// every source for which Topology::has_uneven_rails is false.
/// Cost O(N R log R) while the least common multiple of the slices' W is at most 2^95, as with
/// rates in use; beyond that numbers of its length are added and compared, on the heap. Source:
/// DESIGN 5.1, weighted rails.
std::pmr::vector<std::int64_t> weighted_quotas(const Topology& topology, const RailCounts& counts,
                                               NodeId source,
                                               Memory* memory = std::pmr::get_default_resource());

/// Paths rail_only and joint: owners keep their first min(C, Q) records; surplus sorted by
/// (owner rail, index) meets deficit slots sorted by (target rail, slot), one to one.
SliceAssignment balance_slice(const Topology& topology, const RailCounts& counts, NodePair slice,
                              int start);
/// The same for given quotas, [R], out of their memory. REQUIRES: they add up to the slice's
/// records.
SliceAssignment balance_slice(const RailCounts& counts, NodePair slice,
                              std::pmr::vector<std::int64_t> quota);

/// Paths native and permutation_only: every record on its home rail; the n-th record whose home
/// rail is not eligible goes to eligible[(start + n) mod m], after that rail's own records.
SliceAssignment keep_home_rails(const Topology& topology, const RailCounts& counts, NodePair slice,
                                int start, Memory* memory = std::pmr::get_default_resource());

/// keep_home_rails(...).load without the segments, [R]. Cost O(R).
std::pmr::vector<std::int64_t> home_rail_loads(const Topology& topology, const RailCounts& counts,
                                               NodePair slice, int start,
                                               Memory* memory = std::pmr::get_default_resource());

}  // namespace railwave::plan
