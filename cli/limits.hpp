// How large the things may be that verbs are asked about: one place, so that all say the same.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <railwave/error.hpp>
#include <railwave/topology.hpp>

#include "testbed/cluster_spec.hpp"
#include "workload/trace.hpp"

namespace railwave::cli {

// As in a cluster.toml.
constexpr int kMostNodes = testbed::kMostNodes;
constexpr int kMostRanksPerNode = testbed::kMostRanksPerNode;
constexpr int kMostRails = testbed::kMostRails;
constexpr int kMostRanks = 1 << 20;                  ///< of all nodes
constexpr int kMostLayers = 1 << 20;                 ///< as in a trace
constexpr int kMostRounds = 1'000'000;               ///< of one measurement
constexpr double kMostPayloadMib = 8'589'934'592.0;  ///< 2^33: bytes are exact in a double
constexpr int kMostExperts = workload::Trace::kMaxExperts;
/// What one verb may hold of counts and rows.
constexpr std::int64_t kMostMemory = std::int64_t{1} << 30;

/// Errors: InvalidArgument naming the option when a number of the shape is out of the limits above.
Status check_limits(const Topology::Options& shape);

/// N nodes of G ranks with R rails. Errors: InvalidArgument naming the option when one of them is
/// out of the limits above.
Result<Topology> limited_topology(int nodes, int ranks_per_node, int rails);

/// Errors: ResourceExhausted{field} when `bytes`, absent when they leave 64 bits, are more than
/// kMostMemory; `what` begins the sentence.
Status fits_memory(const std::string& field, std::optional<std::int64_t> bytes,
                   const std::string& what);

}  // namespace railwave::cli
