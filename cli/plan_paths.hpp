// Path bounds of many paths and schedules side by side.
#pragma once

#include <string>
#include <vector>

#include <railwave/error.hpp>
#include <railwave/path.hpp>

#include "replay_options.hpp"

namespace railwave::cli {

/// The barrier path bounds of one schedule, [paths] each summed over the layers.
struct ScheduleBounds {
  std::string schedule;
  double native = 0;  ///< of path native, records over weight
  double least = 0;   ///< LB1
  std::vector<double> by_path{};
};

/// `schedules` that need another number of nodes than the cluster has are left out.
/// Errors: as phase_source.
Result<std::vector<ScheduleBounds>> bounds_by_path(const ReplayOptions& options,
                                                   const std::vector<std::string>& schedules,
                                                   const std::vector<Path>& paths);

/// Two small tables: native over each path, each path over LB1.
std::string paths_tables(const std::vector<ScheduleBounds>& rows, const std::vector<Path>& paths);

}  // namespace railwave::cli
