// This very command on the ranks of an emulated cluster, for verbs that measure.
#pragma once

#include <cstdint>
#include <string>

#include <railwave/error.hpp>

#include "testbed/cluster_spec.hpp"

namespace railwave::cli {

struct EmulatedRun {
  testbed::ClusterSpec spec{};
  std::string label{};    ///< of the progress bar: the verb
  bool gate = true;       ///< check first whether the rails are the limit
  double timeout = 3600;  ///< seconds
};

/// Builds the cluster, checks its rails and runs this command, word by word, on every rank; rank
/// 0's say_progress() becomes a bar. With one node there are no rails to speak of or to check.
/// Returns the exit status of the first rank that failed, else 0.
/// Errors: those of testbed::Cluster; Unsupported{gate} when the rails do not limit.
Result<int> run_on_emulated(const EmulatedRun& options);

/// On rank 0: so many steps of `total` are done.
void say_progress(std::int64_t done, std::int64_t total);

}  // namespace railwave::cli
