// A path's lines of a bench from what all ranks measured.
#pragma once

#include <vector>

#include <railwave/error.hpp>
#include <railwave/path.hpp>

#include "bench_options.hpp"
#include "replay_samples.hpp"
#include "replay_workload.hpp"
#include "report/bench_result.hpp"

namespace railwave::cli {

/// Fills the (set) fields but bound_s, one entry for each layer of `work`. by_rank[P]: the samples
/// of each rank in the same order; a negative `repeat` is a warm-up and not timed. With `check` the
/// bits of combined rows are compared between the rounds.
/// Errors: IntegrityError{bits} when two rounds of one size gave different bits.
Result<report::BenchPath> bench_path(Path path, const BenchRequest& request,
                                     const ReplayWorkload& work,
                                     const std::vector<std::vector<RankSample>>& by_rank,
                                     bool check);

}  // namespace railwave::cli
