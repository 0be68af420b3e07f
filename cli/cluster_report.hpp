// An emulated cluster and what happened in it, as tables for people and as JSON.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "testbed/cluster.hpp"

namespace railwave::cli {

/// Whether nodes or rails differ: in ranks, rates, bridges, or by a missing rail.
bool is_uneven(const testbed::ClusterSpec& spec);
/// A "#" line for each of the first `most` nodes, "#   node1: 4 ranks, rail0>1 rail1(25.00 Mbit/s)
/// -": rail 0 is plugged into bridge 1, rail 1 is slower than the cluster's rate, rail 2 is
/// missing.
std::string nodes_text(const testbed::ClusterSpec& spec, int most);
/// The topology in a few "#" lines, every node.
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
