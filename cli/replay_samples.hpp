// What every rank measured, gathered on rank 0 and made into a result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <railwave/error.hpp>
#include <railwave/path.hpp>
#include <railwave/phase_report.hpp>
#include <railwave/topology.hpp>

#include "report/replay_result.hpp"

namespace railwave::cli {

/// One rank's part of one sample: a dispatch and its combine on one path and layer.
struct RankSample {
  Path path = Path::Joint;
  int layer = 0;
  int repeat = 0;
  double dispatch_s = 0;  ///< from the common start to this rank's end
  double combine_s = 0;
  std::int64_t wrong = 0;  ///< rows that were not what they had to be, after dispatch and combine
  std::uint64_t bits = 0;  ///< hash of this rank's combined output
  PhaseReport dispatch;
  PhaseReport combine;
};

/// The same layout on every rank of a run.
std::vector<std::byte> to_bytes(std::span<const RankSample> samples);
/// Errors: ProtocolViolation when the bytes are cut.
Result<std::vector<RankSample>> samples_from(std::span<const std::byte> bytes);

/// Fills the (set) fields of one path from all ranks' samples [P]; bounds are the caller's.
/// Errors: IntegrityError{bits} when two samples of one layer differ in their bits.
Result<report::PathResult> path_result(Path path, const Topology& topology, int layers,
                                       const std::vector<std::vector<RankSample>>& by_rank);

}  // namespace railwave::cli
