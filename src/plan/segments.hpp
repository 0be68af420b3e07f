// Building a SliceAssignment segment by segment.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/rail_balance.hpp"

namespace railwave::plan {

/// Adds a segment, or lengthens the last one when both its records and its slots continue. A
/// segment without records is left out.
void append(std::pmr::vector<Segment>& segments, const Segment& next);

/// The assignment of segments that ascend by (home, first), out of their memory.
SliceAssignment assembled(std::pmr::vector<Segment> by_home, std::pmr::vector<std::int64_t> load);

}  // namespace railwave::plan
