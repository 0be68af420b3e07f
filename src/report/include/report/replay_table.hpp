// A replay result as the table that `railwave replay` prints.
#pragma once

#include <string>

#include "report/replay_result.hpp"

namespace railwave::report {

/// Header lines with cluster, environment and workload, then one row per path. Times are sums over
/// layers of each layer's quantile; absent figures are "-". REQUIRES: a summarised result.
std::string to_table(const ReplayResult& result);

}  // namespace railwave::report
