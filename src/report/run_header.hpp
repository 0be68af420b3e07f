// The header lines that every table of measurements begins with. Private to the room.
#pragma once

#include <string>

#include "report/replay_result.hpp"

namespace railwave::report {

/// Cluster, environment and gate, a "#" line each.
std::string run_header(const ClusterFacts& cluster, const Environment& environment);

}  // namespace railwave::report
