// The header: what every rank tells every other before a phase, and how they agree (DESIGN 4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include <railwave/dtype.hpp>
#include <railwave/error.hpp>
#include <railwave/ids.hpp>
#include <railwave/path.hpp>

#include "base/memory.hpp"

namespace railwave::exec {

/// Leave: the group is being destroyed on this rank.
enum class Operation : std::uint8_t { Dispatch = 1, Combine = 2, Leave = 3 };

/// Bits of StepHeader::flags.
enum StepFlag : std::uint32_t {
  kExpertMajor = 1,    ///< `copies` counts slots, each of which is a row of its own
  kReturnWeights = 2,  ///< combine: weights travel back with the rows
  kApplyWeights = 4,   ///< combine: rows count times their weights
};

/// One rank's part of the header. Everything above `tokens` must be equal on all ranks.
struct StepHeader {
  explicit StepHeader(Memory* memory = std::pmr::get_default_resource())
      : records(memory), copies(memory) {}
  std::uint8_t rejected = 0;  ///< the ErrorCode with which this rank refused its input, else 0
  Operation operation = Operation::Dispatch;
  Path path = Path::Joint;
  DType dtype = DType::BF16;
  std::uint32_t top_k = 0;
  std::uint32_t hidden = 0;
  std::uint32_t flags = 0;  ///< StepFlag
  std::uint64_t step = 0;
  std::uint64_t handle_step = 0;   ///< the step of the handle's first dispatch, 0 without handle
  std::uint64_t windows_hash = 0;  ///< of the caller's windows
  std::uint32_t tokens = 0;
  std::uint32_t capacity = 0;               ///< rows that this rank can take in this step
  std::pmr::vector<std::uint32_t> records;  ///< [N] records per destination node (own node: local
                                            ///< rows)
  std::pmr::vector<std::uint32_t> copies;   ///< [P] row copies per rank
};

/// Bytes of an encoded header for N nodes and P ranks; the same on every rank.
constexpr std::size_t step_header_bytes(int nodes, int ranks) {
  return 48 + 4 * (static_cast<std::size_t>(nodes) + static_cast<std::size_t>(ranks));
}

/// REQUIRES: out.size() == step_header_bytes(N, P); records and copies are [N] and [P], or empty
/// (zeros are written).
void encode(const StepHeader& header, int nodes, std::span<std::byte> out);
/// Overwrites `out`, whose memory serves again.
void decode(std::span<const std::byte> bytes, int nodes, int ranks, StepHeader& out);

/// The same verdict on every rank, from the same headers [P].
/// Errors: PeerRejected naming the lowest rank that refused its input (that rank itself returns its
/// own error instead); Mismatch naming the field and the lowest rank that is not of the majority
/// (on a tie: not of rank 0's value); CapacityExceeded naming the lowest rank whose rows exceed its
/// capacity, with need and have (in the expert-major layout both without the padding of groups,
/// for which a rank keeps room apart).
Status agree(std::span<const StepHeader> headers);

/// Counts beyond what the group reserved memory for can only come from a broken header.
/// Errors: ProtocolViolation naming the lowest rank that says more than `max_tokens` tokens, or
/// more records or copies for one receiver than it has tokens (copies in the expert-major layout:
/// slots).
Status check_counts(std::span<const StepHeader> headers, std::int64_t max_tokens);

/// Records and row copies of one step, from agreed headers.
struct StepCounts {
  explicit StepCounts(Memory* memory = std::pmr::get_default_resource())
      : records(memory), copies(memory), first_row(memory), rows(memory) {}
  int nodes = 0;
  int ranks = 0;
  std::pmr::vector<std::int64_t> records;    ///< [P, N]
  std::pmr::vector<std::int64_t> copies;     ///< [P, P]
  std::pmr::vector<std::int64_t> first_row;  ///< [P, P] row at the destination where the source's
                                             ///< begin
  std::pmr::vector<std::int64_t> rows;       ///< [P] rows each rank receives

  static StepCounts of(std::span<const StepHeader> headers, int nodes,
                       Memory* memory = std::pmr::get_default_resource());
  [[nodiscard]] std::int64_t records_of(RankId source, NodeId destination) const {
    return records[source.index() * static_cast<std::size_t>(nodes) + destination.index()];
  }
  [[nodiscard]] std::int64_t copies_of(RankId source, RankId destination) const {
    return copies[source.index() * static_cast<std::size_t>(ranks) + destination.index()];
  }
  [[nodiscard]] std::int64_t first_row_of(RankId source, RankId destination) const {
    return first_row[source.index() * static_cast<std::size_t>(ranks) + destination.index()];
  }
};

}  // namespace railwave::exec
