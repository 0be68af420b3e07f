// A built-in trace for machines without recorded ones.
#pragma once

#include <cstdint>

#include <railwave/error.hpp>

#include "workload/trace.hpp"

namespace railwave::workload {

/// Shape and seed of a generated trace; the defaults are those of ESFT `intent`.
struct GeneratorOptions {
  int layers = 26;             ///< L >= 1
  int experts = 64;            ///< E in 1..Trace::kMaxExperts
  int top_k = 6;               ///< K in 1..E
  std::int64_t tokens = 8222;  ///< T >= 0, L * T * K at most 2^31
  std::uint64_t seed = 1;
};

/// Counts [L, 1, E] whose sorted 8 bins, summed over layers, give the paper's shares in pairs of
/// bins, 54.12 / 24.33 / 14.85 / 6.69 %, within half a point where E is a multiple of 8, T * K is
/// at least 100 E and K at most E / 8 (a count never exceeds T, which flattens the profile above
/// that). Every layer has T * K pairs; which experts are hot differs between layers, and so does
/// the skew. Integers only: the same seed gives the same trace on every machine. Errors:
/// InvalidArgument naming the field. Source: paper Fig. 8, App. A.6.
Result<Trace> generate_counts(const GeneratorOptions& options);

/// Ids [L, T, K] with exactly the counts of generate_counts(options): every token has K different
/// experts. Errors: as generate_counts.
Result<Trace> generate_ids(const GeneratorOptions& options);

}  // namespace railwave::workload
