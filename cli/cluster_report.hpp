// An emulated cluster and what happened in it, as tables for people and as JSON.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "testbed/cluster.hpp"

namespace railwave::cli {

/// The topology in a few "#" lines.
std::string topology_text(const testbed::ClusterSpec& spec);
/// One aligned line per node and rail, and one per node for TCP.
std::string counters_table(const testbed::Counters& counters);
/// What was lost and sent again, in one line.
std::string losses_line(const testbed::Counters& counters);

nlohmann::ordered_json cluster_json(const testbed::ClusterSpec& spec);
nlohmann::ordered_json counters_json(const testbed::Counters& counters);
nlohmann::ordered_json gate_json(const testbed::GateResult& gate);
nlohmann::ordered_json run_json(const testbed::RunOutcome& outcome);

}  // namespace railwave::cli
