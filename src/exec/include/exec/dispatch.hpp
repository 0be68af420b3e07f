// Dispatch on one rank: pack records for the rails, read the rows that are for this rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include <railwave/ids.hpp>
#include <railwave/phase_report.hpp>
#include <railwave/placement.hpp>

#include "exec/handle_state.hpp"
#include "exec/own_rows.hpp"
#include "exec/phase.hpp"
#include "exec/record.hpp"
#include "exec/step_header.hpp"

namespace railwave::exec {

/// What both halves of a dispatch know.
struct DispatchContext {
  RankEngine* engine = nullptr;
  const Placement* placement = nullptr;
  const plan::DispatchPlan* plan = nullptr;
  const StepCounts* counts = nullptr;
  NodeRows* rows = nullptr;
  ChunkShape shape;
  int top_k = 0;
};

/// Where this rank's records travel, [N], each in the rank's order; nothing for the own node.
using OwnPlaces = std::vector<std::vector<RecordPlace>>;
OwnPlaces own_places(const DispatchContext& context);

/// Gives the rank's neighbours what they read of its rows: records that another driver sends, rows
/// of its own node's ranks.
void publish_tokens(const DispatchContext& context, const OwnPlaces& places);

/// Packs records into frames, from the caller's rows and those that neighbours published.
class DispatchSource : public RecordSource {
 public:
  explicit DispatchSource(const DispatchContext& context);
  bool ready(const Stream& stream, std::int64_t first, std::int64_t count) override;
  void pack(const Stream& stream, std::int64_t first, std::int64_t count, std::byte* out) override;
  /// Errors: ProtocolViolation naming the sender, for a meta whose source, experts or rows can not
  /// be.
  Status readers(const Stream& stream, std::int64_t first, std::int64_t count,
                 const std::byte* chunk, std::vector<std::uint8_t>& locals) override;
  /// Adds the time spent packing own and others' records.
  void report(PhaseReport& out) const;

 private:
  const std::vector<RecordOwner>& owners_of(const Stream& stream);
  [[nodiscard]] bool is_sound(const RecordMeta& meta, NodeId source) const;
  DispatchContext context_;
  std::vector<std::int64_t> first_meta_;  // [G, N]
  std::map<const Stream*, std::vector<RecordOwner>> owners_;
  double own_s_ = 0;
  double other_s_ = 0;
};

/// Where a rank's received rows go. Shapes: x [Nr, row_bytes], topk_idx and topk_weights [Nr, K],
/// tokens_per_expert [E_local].
struct ReceiveBuffers {
  std::byte* x = nullptr;
  std::int64_t* topk_idx = nullptr;  ///< local expert ids; slots of other ranks' experts stay -1
  float* topk_weights = nullptr;
  std::int64_t* tokens_per_expert = nullptr;
  std::int32_t* taken_from = nullptr;  ///< [Nr] local rank in whose memory the row lay
};

/// Copies this rank's rows from its neighbours' segments to their final places, in whatever order
/// they come: the place follows from the meta.
class DispatchReader {
 public:
  /// `buffers` is asked for when the first frames are on their way: making room for rows may cost
  /// more than everything before it.
  DispatchReader(const DispatchContext& context, const Phase& phase,
                 std::function<ReceiveBuffers()> buffers);
  /// Reads what is there; true when all rows are.
  bool read();
  [[nodiscard]] double seconds() const { return seconds_; }

 private:
  void open_buffers();
  void read_neighbour(int local);
  void read_stream(std::size_t index);
  void take(const RecordMeta& meta, const std::byte* row, int from);

  DispatchContext context_;
  const Phase& phase_;
  std::function<ReceiveBuffers()> buffers_;
  ReceiveBuffers out_;
  std::int64_t missing_;            // rows
  std::vector<std::int64_t> next_;  // by inbound stream: first record that is not read
  std::vector<bool> node_read_;     // [G] whose rows for this rank have been read
  bool open_ = false;               // the buffers are there
  double seconds_ = 0;
};

/// The handle's parts that come from the metas in memory after a dispatch.
void remember_rows(const DispatchContext& context, const Phase& phase, const OwnPlaces& places,
                   HandleState& handle);

}  // namespace railwave::exec
