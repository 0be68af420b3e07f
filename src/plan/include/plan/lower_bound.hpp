// Lower bounds of a phase's time. Every measured time is quoted as a ratio to them (DESIGN 5.6).
#pragma once

#include <cstdint>
#include <vector>

#include <railwave/topology.hpp>

#include "model/descriptors.hpp"
#include "model/rail_counts.hpp"
#include "plan/dispatch_plan.hpp"

namespace railwave::plan {

/// LB1, whatever the plan, in records over weight: multiply by the row bytes and divide by the rate
/// of a rail of weight 1 (with rails alike that is every rail; with rates as weights it is
/// Topology::weight_unit). The maximum of
///   over nodes, directions and subsets A of the node's rails: the records whose eligible set lies
///     in A, over the weight of A (incoming, the set is of ingress rails);
///   over slices: the records of the slice over the sum of w_r, each the slower of its two ends.
/// Exact. Cost O(N^2 R) where the slices of a node have at most four different eligible sets; where
/// they have more, k <= N, a few maximum flows of k + R vertices for that node and direction.
Ratio bound_records(const Topology& topology, const RailCounts& counts);

/// With a barrier between windows: the sum over windows of the largest load that the plan puts on
/// one (node, rail, direction), in records, whatever the rails' weights.
std::int64_t barrier_path_bound_records(const DispatchPlan& plan);

/// Free-running windows: the longest chain when a pair starts on a rail as soon as the sender has
/// sent, and the receiver received, its windows before, in records. Pairs of one window that share
/// a (node, rail, direction) are served there in the order in which they can start, ties in the
/// window's order; a pair is through when both its ends are. Never above the barrier bound, never
/// below the whole load of one (node, rail, direction); equal to both with one window.
/// Several submitted windows could be served in an order that ends sooner: for them this is what
/// free running does, for one window and for waves nothing is faster.
std::int64_t free_path_bound_records(const DispatchPlan& plan);

/// The same two in records over weight, as bound_records: a (node, rail, direction) takes its load
/// over its weight, and no transfer is faster than the slower of its two ends. With rails alike
/// they are the counts above; else rounded to a double.
double barrier_path_bound(const DispatchPlan& plan);
double free_path_bound(const DispatchPlan& plan);

/// Seconds for `records` (over weight) rows of `row_bytes`, at the rate of a rail of weight 1, less
/// `burst_bytes` that a token bucket lets through at once per rail; never below 0.
double bound_seconds(double records, std::int64_t row_bytes, double rail_bytes_per_second,
                     std::int64_t burst_bytes);
double bound_seconds(Ratio records, std::int64_t row_bytes, double rail_bytes_per_second,
                     std::int64_t burst_bytes);

}  // namespace railwave::plan
