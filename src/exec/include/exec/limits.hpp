// What a group reserves for, and how it cuts records into frames.
#pragma once

#include <cstdint>

#include <railwave/path.hpp>

#include "base/checked.hpp"

namespace railwave::exec {

/// (set) at creation, the same on every rank.
struct Limits {
  std::int64_t max_tokens = 0;     ///< T of any rank in any step
  std::int64_t max_recv_rows = 0;  ///< rows that any rank may receive in one step
  std::int64_t shared_bytes = 0;   ///< for the caller's buffers that neighbours read in place
  std::int64_t max_row_bytes = 0;  ///< bytes of the widest row
  int max_top_k = 1;
  std::int64_t chunk_bytes = 64 << 10;  ///< largest payload of a frame, unless one record is larger
  int send_slots = 4;                   ///< frames in flight per rail and rank
  Packing packing = Packing::Pipelined;
  int phases = 1;  ///< phases that may be under way at once
};

/// How the records of a stream lie in frames: each frame is [metas][rows], and lies in the stage as
/// it was sent. In combine the metas are the weights that go back, if any do.
struct ChunkShape {
  std::int64_t meta_bytes = 0;
  std::int64_t row_bytes = 0;
  std::int64_t records = 1;  ///< records of every frame but the last

  static ChunkShape of(std::int64_t meta_bytes, std::int64_t row_bytes, std::int64_t chunk_bytes) {
    const std::int64_t record = meta_bytes + row_bytes;
    return {meta_bytes, row_bytes, record > 0 && chunk_bytes > record ? chunk_bytes / record : 1};
  }
  [[nodiscard]] std::int64_t count(std::int64_t stream_records) const {
    return ceil_div(stream_records, records);
  }
  /// Records in chunk `index` of a stream.
  [[nodiscard]] std::int64_t records_in(std::int64_t index, std::int64_t stream_records) const {
    const std::int64_t left = stream_records - index * records;
    return left < records ? left : records;
  }
  [[nodiscard]] std::int64_t payload(std::int64_t chunk_records) const {
    return chunk_records * (meta_bytes + row_bytes);
  }
  /// Distance between two chunks in a stage.
  [[nodiscard]] std::int64_t stride() const { return round_up(payload(records), 64); }
  /// Bytes of a whole stream in a stage; at most stream_records * round_up(meta + row, 64).
  [[nodiscard]] std::int64_t stage_bytes(std::int64_t stream_records) const {
    if (stream_records == 0) return 0;
    const std::int64_t last = count(stream_records) - 1;
    return last * stride() + round_up(payload(records_in(last, stream_records)), 64);
  }
  /// Where record `record` of a stream has its meta and its row, from the stream's place.
  [[nodiscard]] std::int64_t meta_offset(std::int64_t record) const {
    return record / records * stride() + record % records * meta_bytes;
  }
  [[nodiscard]] std::int64_t row_offset(std::int64_t record, std::int64_t stream_records) const {
    const std::int64_t chunk = record / records;
    return chunk * stride() + records_in(chunk, stream_records) * meta_bytes +
           record % records * row_bytes;
  }
};

}  // namespace railwave::exec
