// Where everything lies in a rank's segment of the node fabric.
#pragma once

#include <cstdint>
#include <vector>

#include <railwave/topology.hpp>

#include "exec/limits.hpp"

namespace railwave::exec {

/// Offsets in bytes from the start of one rank's segment. A pure function of topology, limits and
/// rank, so that every rank of the node knows its neighbours' maps.
///
/// With D phases under way at once (Limits::phases) a rank enters step s when it has finished step
/// s - D and has all headers of step s - 1. So
///   - headers have two copies, by step mod 2: a neighbour may still read those of the step before;
///   - metas and, beside them, rows have D + 1, by step mod (D + 1): metas are written before it is
///     known that every neighbour has entered the step;
///   - stages and the words of a phase have D, by step mod D: records arrive only after every rank
///     has entered the step. A word of a newer step in the same place says that every rank has
///     finished the older one.
///
/// Size (the memory that a rank reserves beyond the caller's buffers, besides send slots), with N
/// nodes, P ranks, R rails, T = max_tokens, K = max_top_k, row = max_row_bytes, D = phases,
/// meta = record_meta_bytes(K), H = 48 + 4 (N + P) and G = most ranks of a node:
///   words    8 x {4 + D, D R, D R N, 2 N, 2 N, D streams}, streams = most that end at the rank in
///            either direction
///   headers  2 H + 2 N (G H)
///   rows     (D + 1) (max(T, M) row + max(T min(N, K) meta, 4 M K)), M = max_recv_rows
///   stage    D times the larger of dispatch and combine: sum over the streams that end at the rank
///            of (records in the worst case of any path) (meta + row); combine's meta is its
///            weights, 4 K rounded up to 8
///   places   (D + 1) x 64
///   arena    shared_bytes
/// Each item in braces, H, (G H), the rows and the row pair, and each record of the stage are
/// rounded up to 64 bytes, the arena too. Worked example: docs/workspace.md. Pages are touched only
/// when used.
struct SegmentMap {
  std::int64_t phases = 1;  ///< D
  std::int64_t rails = 0;   ///< R
  std::int64_t nodes = 0;   ///< N
  std::int64_t lanes = 0;   ///< most that end at the rank
  // Words, each 64-bit, see transport/shared_word.hpp.
  std::int64_t header_word = 0;   ///< step of the newest header of this rank, [2] by parity
  std::int64_t rows_word = 0;     ///< step of the newest rows of this rank
  std::int64_t revoked_word = 0;  ///< not 0: this rank's rows in place are its caller's again
  std::int64_t read_words = 0;    ///< [D] newest step whose rows this rank has read
  std::int64_t level_words = 0;   ///< [D, R] windows that this driver has received (step, level)
  std::int64_t heard_words = 0;   ///< [D, R, N] levels heard from other nodes (step, level)
  std::int64_t remote_words = 0;  ///< [N, 2] step of the newest header of node n, [2] by parity
  std::int64_t absent_words = 0;  ///< [N, 2] bitmap of ranks that node n waits for, and its step
  std::int64_t stream_words = 0;  ///< [D, lanes] records that have arrived in order (step, count)
  // Regions.
  std::int64_t header = 0;         ///< [2] own header
  std::int64_t header_stride = 0;  ///< between the two
  std::int64_t remote = 0;         ///< [2, N] headers of whole nodes
  std::int64_t remote_stride = 0;  ///< between two nodes' headers
  std::int64_t rows_place = 0;     ///< [D + 1] RowsPlace, a line each
  std::int64_t rows = 0;           ///< [D + 1] rows and metas of this rank
  std::int64_t rows_stride = 0;
  std::int64_t metas = 0;        ///< offset of the metas, or of combine's weights, within rows
  std::int64_t stage = 0;        ///< [D]
  std::int64_t stage_bytes = 0;  ///< of one
  std::int64_t arena = 0;        ///< buffers of the caller
  std::int64_t bytes = 0;        ///< of the whole segment

  static SegmentMap of(const Topology& topology, const Limits& limits, RankId rank);

  // Where a step finds its own, in bytes from the segment's start.
  [[nodiscard]] std::int64_t read_word(std::uint64_t step) const {
    return read_words + 8 * turn(step);
  }
  [[nodiscard]] std::int64_t level_word(std::uint64_t step, RailId rail) const {
    return level_words + 8 * (turn(step) * rails + rail.value);
  }
  [[nodiscard]] std::int64_t heard_word(std::uint64_t step, RailId rail, NodeId node) const {
    return heard_words + 8 * ((turn(step) * rails + rail.value) * nodes + node.value);
  }
  [[nodiscard]] std::int64_t stream_word(std::uint64_t step, int ordinal) const {
    return stream_words + 8 * (turn(step) * lanes + ordinal);
  }
  [[nodiscard]] std::int64_t rows_of(std::uint64_t step) const {
    return rows + rows_turn(step) * rows_stride;
  }
  [[nodiscard]] std::int64_t rows_place_of(std::uint64_t step) const {
    return rows_place + rows_turn(step) * 64;
  }
  [[nodiscard]] std::int64_t stage_of(std::uint64_t step) const {
    return stage + turn(step) * stage_bytes;
  }

 private:
  [[nodiscard]] std::int64_t turn(std::uint64_t step) const {
    return static_cast<std::int64_t>(step % static_cast<std::uint64_t>(phases));
  }
  [[nodiscard]] std::int64_t rows_turn(std::uint64_t step) const {
    return static_cast<std::int64_t>(step % static_cast<std::uint64_t>(phases + 1));
  }
};

/// Most bytes of frames that `rank` sends on `rail` in one phase, either direction. REQUIRES: it
/// drives the rail.
std::int64_t most_sent_bytes(const Topology& topology, const Limits& limits, RankId rank,
                             RailId rail);

/// Rank of `destination` that receives the header of node `source`, the rank of `source` that sends
/// it, and on which rails. The rails of the pairs differ, so that headers do not queue on one.
struct HeaderRoute {
  RankId sender;
  RankId receiver;
  RailId sender_rail;
};
HeaderRoute header_route(const Topology& topology, NodeId source, NodeId destination);

}  // namespace railwave::exec
