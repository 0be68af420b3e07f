// Uniform random routing, as benchmarks of expert parallelism use it.
#pragma once

#include <cstdint>

#include <railwave/error.hpp>
#include <railwave/ids.hpp>

#include "workload/rank_routing.hpp"

namespace railwave::workload {

struct RandomRoutingOptions {
  std::uint64_t seed = 1;
  std::int64_t tokens = 0;  ///< of one rank
  int experts = 1;
  int top_k = 1;
};

/// Every token of `self` goes to top_k different experts, each set of them as likely as any other.
/// The same on every machine; a rank's first tokens do not depend on how many there are.
/// Errors: InvalidArgument{experts}, {top_k} unless 1 <= top_k <= experts, {tokens} when negative.
Result<RankRouting> random_routing(RankId self, const RandomRoutingOptions& options);

}  // namespace railwave::workload
