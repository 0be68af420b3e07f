// Where a rank measures: its cluster and environment as results show them.
#pragma once

#include <cstdint>

#include <railwave/topology.hpp>

#include "report/environment.hpp"
#include "report/replay_result.hpp"
#include "testbed/cluster_spec.hpp"

namespace railwave::cli {

/// The launcher's gate for the ranks: "share lone_time".
constexpr const char* kGateVariable = "RAILWAVE_GATE";

report::ClusterFacts cluster_facts(const testbed::ClusterSpec& spec);
/// With the cluster's congestion control and the launcher's gate.
report::Environment run_environment(const testbed::ClusterSpec& spec, std::uint64_t seed);

}  // namespace railwave::cli
