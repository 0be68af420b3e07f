// Path bounds of many paths and schedules side by side.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <railwave/error.hpp>
#include <railwave/path.hpp>

#include "replay_options.hpp"
#include "testbed/cluster_spec.hpp"

namespace railwave::cli {

/// The barrier path bounds of one schedule, [paths] each summed over the layers.
struct ScheduleBounds {
  std::string schedule;
  double native = 0;  ///< of path native, records over weight
  double least = 0;   ///< LB1
  std::vector<double> by_path{};
};

/// What the bounds rest on.
struct PathBounds {
  testbed::ClusterSpec spec{};
  std::string trace{};
  int layers = 0;
  std::int64_t row_bytes = 0;
  std::int64_t rate_of_weight_one = 0;  ///< bit/s
  std::vector<ScheduleBounds> rows{};
};

/// `schedules` that need another number of nodes than the cluster has are left out.
/// Errors: as phase_source.
Result<PathBounds> bounds_by_path(const ReplayOptions& options,
                                  const std::vector<std::string>& schedules,
                                  const std::vector<Path>& paths);

/// Two small tables: native over each path, each path over LB1.
std::string paths_tables(const std::vector<ScheduleBounds>& rows, const std::vector<Path>& paths);

}  // namespace railwave::cli
