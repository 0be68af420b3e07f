// The layers of a bench: random routing, one layer for each size.
#pragma once

#include <cstdint>
#include <vector>

#include <railwave/error.hpp>
#include <railwave/topology.hpp>

#include "replay_workload.hpp"

namespace railwave::cli {

struct BenchLayers {
  std::vector<std::int64_t> tokens{};  ///< [sizes] of each rank
  int experts = 1;
  int top_k = 1;
  std::uint64_t seed = 1;
};

/// Layer i has tokens[i] tokens on every rank; all node pairs at once. The same on every rank, and
/// in every process that is given the same. Errors: InvalidArgument for experts or top_k.
Result<ReplayWorkload> make_bench_workload(const BenchLayers& layers, const Topology& topology);

}  // namespace railwave::cli
