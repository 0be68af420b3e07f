// Where a rank measures: its cluster and environment as results show them.
#pragma once

#include <cstdint>

#include <railwave/error.hpp>
#include <railwave/topology.hpp>

#include "report/environment.hpp"
#include "report/replay_result.hpp"
#include "testbed/cluster_spec.hpp"

namespace railwave::cli {

/// The launcher's gate for the ranks: "share lone_time".
constexpr const char* kGateVariable = "RAILWAVE_GATE";

/// The emulated cluster of which this process is a rank. Errors: InvalidArgument, which tells to
/// run `command`, when it is none.
Result<testbed::ClusterSpec> cluster_of_this_rank(const char* command);

report::ClusterFacts cluster_facts(const testbed::ClusterSpec& spec);
/// With the cluster's congestion control and the launcher's gate.
report::Environment run_environment(const testbed::ClusterSpec& spec, std::uint64_t seed);

}  // namespace railwave::cli
