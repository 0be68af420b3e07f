// `railwave replay` on a rank.
#pragma once

#include <railwave/error.hpp>

#include "replay_options.hpp"
#include "testbed/cluster_spec.hpp"

namespace railwave::cli {

/// On a rank of an emulated (or real) cluster: takes part in every sample; rank 0 prints the table
/// and writes the JSON. Returns the exit status: 0, or 1 when rows were wrong.
Result<int> replay_as_rank(const ReplayOptions& options, const ReplayRequest& request,
                           const testbed::ClusterSpec& spec);

}  // namespace railwave::cli
