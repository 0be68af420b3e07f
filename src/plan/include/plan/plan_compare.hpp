// What differs between two plans.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/recorded_plan.hpp"

namespace railwave::plan {

/// A slice that the two plans do not treat alike.
struct SliceDifference {
  NodePair pair;
  std::int64_t elsewhere = 0;  ///< records that leave by another rail
  bool other_loads = false;    ///< the rails carry other numbers of records
  /// It is sent in other windows, together with other pairs or in other portions: other numbers of
  /// records in a window, or, where the rails carry as many in all, of a rail in a window; or a
  /// record keeps its rail, but not its window.
  bool other_windows = false;
  friend bool operator==(const SliceDifference&, const SliceDifference&) = default;
};

/// Everything false, 0 and empty: the plans do the same.
struct PlanDifference {
  bool other_topology = false;
  bool other_counts = false;  ///< the plans are of different phases
  bool other_path = false;    ///< only the name; the same plan may come from two paths
  bool other_windows = false;
  std::int64_t elsewhere = 0;             ///< records that leave by another rail, over all slices
  std::vector<SliceDifference> slices{};  ///< ascending by pair; only where something differs
  friend bool operator==(const PlanDifference&, const PlanDifference&) = default;
  /// The same windows, pairs and rails for every record.
  [[nodiscard]] bool same_traffic() const { return !other_windows && slices.empty(); }
};

/// Records that only one of the plans has are not `elsewhere`; that the counts differ says so.
/// REQUIRES: as many nodes and rails in both; else only other_topology is set.
PlanDifference compare(const RecordedPlan& a, const RecordedPlan& b);

}  // namespace railwave::plan
