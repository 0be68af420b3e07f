// The ranks' side of `railwave bench`. Both return the exit status; rank 0 prints and writes.
#pragma once

#include <railwave/error.hpp>

#include "bench_options.hpp"
#include "testbed/cluster_spec.hpp"

namespace railwave::cli {

/// dispatch, combine, round-trip: takes part in every round.
/// Errors: those of a group; IntegrityError for wrong rows.
Result<int> bench_exchange(const BenchOptions& options, const BenchRequest& request,
                           const testbed::ClusterSpec& spec);

/// p2p, incast, permute: plain TCP connections along the rails, without the library.
/// Errors: Timeout naming the rail; ResourceExhausted; IntegrityError for wrong transfers.
Result<int> bench_network(const BenchOptions& options, const BenchRequest& request,
                          const testbed::ClusterSpec& spec);

}  // namespace railwave::cli
