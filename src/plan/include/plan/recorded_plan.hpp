// A plan written out: what is saved, checked, compared and explained without planning again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <railwave/path.hpp>
#include <railwave/topology.hpp>

#include "model/rail_counts.hpp"
#include "plan/dispatch_plan.hpp"
#include "plan/rail_balance.hpp"

namespace railwave::plan {

/// What a pair sends in one window.
struct RecordedSend {
  std::size_t window = 0;
  std::vector<std::int64_t> loads;  ///< [R] records by egress rail
  friend bool operator==(const RecordedSend&, const RecordedSend&) = default;
};

/// One slice (s, d). On each rail the slots go to the sends in their order: the first send's
/// records have the slots 0..load-1, the next one's follow.
struct RecordedSlice {
  NodePair pair;
  std::vector<RecordedSend> sends;  ///< by window, ascending
  std::vector<Segment> segments;    ///< ascending (home, first)
  friend bool operator==(const RecordedSlice&, const RecordedSlice&) = default;
};

/// Plain data: whatever is in it may be wrong until it is checked (plan/plan_check.hpp), but every
/// node, rail and window that it names is there. Threads: a value.
struct RecordedPlan {
  Topology topology;
  RailCounts counts;
  Path path = Path::Joint;
  Windows windows{};                    ///< in the order in which they run
  std::vector<RecordedSlice> slices{};  ///< pairs with records, ascending
};

/// Everything the plan decides. Cost: that of every slice.
RecordedPlan record(const DispatchPlan& plan);

/// Records of a slice that leave by another rail than their home rail.
std::int64_t moved_records(const RecordedSlice& slice);

/// Where one record goes, and why.
struct RecordRoute {
  bool moved = false;      ///< leaves by another rail than its home rail
  RailId egress;           ///< the rail by which it leaves
  RailId ingress;          ///< chi(s, d)(egress)
  std::int64_t slot = 0;   ///< its position on the egress rail within the slice
  std::size_t window = 0;  ///< the window in which it is sent
  RankId sender;           ///< the driver of the egress rail that sends it
  RankId receiver;         ///< the driver of the ingress rail that receives it
  std::int64_t kept = 0;   ///< how many of its home rail's records stay there
  std::int64_t homed = 0;  ///< how many there are
  std::int64_t load = 0;   ///< records of the slice on the egress rail
  bool eligible = false;   ///< the home rail is eligible for the slice
};

/// Record `index` of home rail `home` of the pair.
/// Errors: InvalidArgument{record} when the pair, the rail or the record is not there, or when the
/// plan gives it no rail or no window. Source: DESIGN 5.1.
Result<RecordRoute> route_of(const RecordedPlan& plan, NodePair pair, RailId home,
                             std::int64_t index);

}  // namespace railwave::plan
