// The sending half of a dispatch on one rank: what neighbours and rails get.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory_resource>
#include <span>
#include <vector>

#include <railwave/ids.hpp>
#include <railwave/phase_report.hpp>
#include <railwave/placement.hpp>
#include <railwave/row_layout.hpp>

#include "base/memory.hpp"
#include "exec/own_rows.hpp"
#include "exec/phase.hpp"
#include "exec/record.hpp"
#include "exec/row_shape.hpp"
#include "exec/step_header.hpp"

namespace railwave::exec {

/// What both halves of a dispatch know.
struct DispatchContext {
  RankEngine* engine = nullptr;
  const Placement* placement = nullptr;
  const plan::DispatchPlan* plan = nullptr;
  const StepCounts* counts = nullptr;
  NodeRows* rows = nullptr;
  RowShape row_shape;
  ChunkShape shape;
  RowLayout layout = RowLayout::RankMajor;
  int top_k = 0;
  Memory* memory = std::pmr::get_default_resource();  ///< of the step
};

/// Where this rank's records travel, [N], each in the rank's order; nothing for the own node.
using OwnPlaces = std::pmr::vector<std::pmr::vector<RecordPlace>>;
OwnPlaces own_places(const DispatchContext& context);

/// Gives the rank's neighbours what they read of its rows: records that another driver sends, rows
/// of its own node's ranks.
void publish_tokens(const DispatchContext& context, const OwnPlaces& places);

/// Packs records into frames, from the caller's rows and those that neighbours published.
class DispatchSource : public RecordSource {
 public:
  explicit DispatchSource(const DispatchContext& context);
  bool ready(const Stream& stream, std::int64_t first, std::int64_t count) override;
  Status pack(const Stream& stream, std::int64_t first, std::int64_t count,
              std::byte* out) override;
  /// Errors: ProtocolViolation naming the sender, for a meta whose source, experts or rows can not
  /// be.
  Status readers(const Stream& stream, std::int64_t first, std::int64_t count,
                 const std::byte* chunk, std::span<std::uint8_t> locals) override;
  /// Adds the time spent packing own and others' records.
  void report(PhaseReport& out) const;

 private:
  std::span<const RecordOwner> owners_of(const Stream& stream);
  [[nodiscard]] bool is_sound(const RecordMeta& meta, NodeId source) const;
  DispatchContext context_;
  std::pmr::vector<std::int64_t> first_meta_;  // [G, N]
  std::pmr::map<const Stream*, std::pmr::vector<RecordOwner>> owners_;
  double own_s_ = 0;
  double other_s_ = 0;
};

}  // namespace railwave::exec
