// The two sides of `railwave replay`.
#pragma once

#include <railwave/error.hpp>

#include "replay_options.hpp"
#include "testbed/cluster_spec.hpp"

namespace railwave::cli {

/// On a rank of an emulated (or real) cluster: takes part in every sample; rank 0 prints the table
/// and writes the JSON. Returns the exit status: 0, or 1 when rows were wrong.
Result<int> replay_as_rank(const ReplayOptions& options, const ReplayRequest& request,
                           const testbed::ClusterSpec& spec);

/// Outside a cluster: builds an emulated one, checks it, and runs this command on its ranks.
Result<int> replay_on_emulated(const ReplayOptions& options);

/// How rank 0 tells the launcher how far it is: a line "<prefix>done total" on standard output.
constexpr const char* kProgressPrefix = "\x01replay ";
/// The launcher's gate for the result: "share lone_time".
constexpr const char* kGateVariable = "RAILWAVE_GATE";

}  // namespace railwave::cli
