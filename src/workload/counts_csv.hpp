// Expert counts in CSV: `task,layer,e0,e1,...` (docs/formats/trace.md). Private to the room.
#pragma once

#include <string>
#include <string_view>

#include "workload/trace.hpp"

namespace railwave::workload {

/// Counts of one task. `task` may be empty when the file has one task only.
/// Errors: InvalidArgument{trace} naming the line and what was expected.
Result<Trace> parse_counts_csv(std::string_view path, std::string_view text, std::string_view task);

}  // namespace railwave::workload
