// What a dispatch leaves behind for its combine and for its repetition: row identity and counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <optional>
#include <vector>

#include <railwave/ids.hpp>
#include <railwave/row_layout.hpp>

#include "base/memory.hpp"
#include "exec/step_header.hpp"
#include "exec/streams.hpp"
#include "plan/dispatch_plan.hpp"

namespace railwave::exec {

/// A row on the expert side: local rank and number among the rows that it received. In the
/// rank-major layout that is the row of its recv_x, in the expert-major layout the slot's number by
/// (source rank, token, slot).
struct RowRef {
  std::int32_t local = 0;
  std::int32_t slot = 0;  ///< k, expert-major only
  std::int64_t row = 0;
};

/// Rows of one record or token, `first[i] .. first[i+1]` of `refs` for the i-th.
struct RowRefs {
  explicit RowRefs(Memory* memory) : first(std::size_t{1}, std::size_t{0}, memory), refs(memory) {}
  std::pmr::vector<std::size_t> first;
  std::pmr::vector<RowRef> refs;
  void close() { first.push_back(refs.size()); }
  [[nodiscard]] std::size_t size() const { return first.size() - 1; }
};

/// Where the partial of one (token, remote node) comes back.
struct PartialPlace {
  NodeId node;
  RecordPlace place;
};

/// Records that this rank received for its node, in stream order: what it sums when they go back.
struct ForwardedStream {
  StreamKey key;
  RowRefs records;  ///< ranks ascending, within a rank slots ascending
};

/// Where the rows of the expert-major layout lie on this rank.
struct ExpertRows {
  explicit ExpertRows(Memory* memory) : places(memory), offsets(memory) {}
  std::pmr::vector<std::uint32_t> places;  ///< [slots] row of recv_x of each slot
  std::pmr::vector<std::int64_t>
      offsets;  ///< [E_local + 1] where each padded group begins, and the end
};

/// Immutable after dispatch. Threads: may be shared freely.
struct HandleState {
  explicit HandleState(Memory* upstream)
      : memory(upstream),
        counts(&memory),
        metas(&memory),
        tokens_per_expert(&memory),
        expert_rows(&memory),
        taken_from(&memory),
        own_node(&memory),
        first_partial(&memory),
        partials(&memory),
        forwarded(&memory) {}
  BatchMemory memory;               ///< of all that follows
  std::weak_ptr<const void> group;  ///< owned by the group that made it, for as long as it lives
  std::uint64_t step = 0;
  RowLayout layout = RowLayout::RankMajor;
  int top_k = 0;
  int expert_alignment = 1;
  std::int64_t tokens = 0;
  std::int64_t rows = 0;                   ///< of this rank's recv_x, padding included
  std::optional<plan::DispatchPlan> plan;  ///< there is always one
  StepCounts counts;
  std::pmr::vector<std::byte> metas;                 ///< of this rank's records, as they travelled
  std::pmr::vector<std::int64_t> tokens_per_expert;  ///< [E_local] without padding
  ExpertRows expert_rows;                            ///< expert-major only
  std::pmr::vector<std::int32_t> taken_from;  ///< [rows, or slots in the expert-major layout] local
                                              ///< rank that reads the row in combine: it forwarded
                                              ///< it, or owns its token
  RowRefs own_node;                           ///< [T] rows on this rank's own node, ranks ascending
  std::pmr::vector<std::size_t> first_partial;  ///< [T+1]
  std::pmr::vector<PartialPlace> partials;      ///< nodes ascending within a token
  std::pmr::vector<ForwardedStream> forwarded;
};

}  // namespace railwave::exec
