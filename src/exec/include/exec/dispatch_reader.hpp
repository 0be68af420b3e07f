// The receiving half of a dispatch: rows from the neighbours' segments to their final places.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory_resource>
#include <vector>

#include <railwave/row_layout.hpp>

#include "base/memory.hpp"
#include "exec/dispatch.hpp"
#include "exec/handle_state.hpp"
#include "exec/phase.hpp"
#include "exec/record.hpp"

namespace railwave::exec {

/// Where a rank's received rows go. Shapes: Nr rows (padding included), K slots.
struct ReceiveBuffers {
  std::byte* x = nullptr;            ///< [Nr, element_bytes]
  std::byte* scales = nullptr;       ///< [Nr, scale_bytes], null where rows have none
  std::int64_t* topk_idx = nullptr;  ///< [Nr, K] local expert ids; slots of other ranks' experts
                                     ///< stay -1. Rank-major only
  float* topk_weights = nullptr;     ///< [Nr, K], expert-major [Nr]
};

/// Copies this rank's rows to their final places, in whatever order they come: the place follows
/// from the meta. In the expert-major layout it follows only from all metas together, so all of
/// them are looked at before the first row is copied, unless an earlier dispatch has left the
/// places in its handle. Threads: the engine's.
class DispatchReader {
 public:
  struct Setup {
    const DispatchContext* context = nullptr;
    const Phase* phase = nullptr;
    const HandleState* handle = nullptr;
    HandleState* fresh = nullptr;  ///< the same, to be filled; null: an earlier dispatch filled it
    /// Asked once, with the rows to make room for, when the first frames are on their way: making
    /// room may cost more than everything before it.
    std::function<ReceiveBuffers(std::int64_t)> buffers;
  };
  explicit DispatchReader(const Setup& setup);
  /// Reads what is there; true when all rows are.
  bool read();
  [[nodiscard]] double seconds() const { return seconds_; }

 private:
  void start_over();
  using Visit = void (DispatchReader::*)(const RecordMeta&, const RowView&, int);
  void visit(Visit what);
  void visit_neighbour(int local, Visit what);
  void visit_stream(std::size_t index, Visit what);
  /// Notes the experts of the record's slots, for the places.
  void note(const RecordMeta& meta, const RowView& row, int from);
  void take(const RecordMeta& meta, const RowView& row, int from);
  void put(std::int64_t place, const RowView& row);
  void put_elements(std::byte* out, const std::byte* elements) const;
  void find_places();
  void open();
  void clear_padding();
  [[nodiscard]] bool expert_major() const {
    return setup_.handle->layout == RowLayout::ExpertMajor;
  }
  /// Local number of the slot's expert, -1 where another rank owns it or there is none.
  [[nodiscard]] int local_expert(const RecordSlot& slot) const;
  [[nodiscard]] std::int64_t number_of(const RecordMeta& meta, const RecordSlot& slot) const;

  Setup setup_;
  const DispatchContext& context_;
  ReceiveBuffers out_;
  std::int64_t unknown_ = 0;  // slots without a place
  std::int64_t missing_;      // rows, or slots, that are not copied
  std::pmr::vector<std::int32_t>
      experts_;                          // [slots] local expert of each, until the places are found
  std::pmr::vector<std::int64_t> next_;  // by inbound stream: first record that is not visited
  std::pmr::vector<bool> node_read_;     // [G] whose rows for this rank have been visited
  bool open_ = false;                    // the buffers are there
  bool past_cache_ = false;              // the rows are more than a cache holds
  double seconds_ = 0;
};

}  // namespace railwave::exec
