// Puts a rank's rows and record metas into its segment, where its neighbours read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <railwave/ids.hpp>
#include <railwave/placement.hpp>
#include <railwave/topology.hpp>

#include "exec/rank_engine.hpp"
#include "exec/segment_map.hpp"
#include "exec/step_header.hpp"
#include "model/routing.hpp"

namespace railwave::exec {

/// One rank's dispatch input, checked. Shapes: x [T, row_bytes], topk_weights [T, K] or empty.
struct OwnTokens {
  const std::byte* x = nullptr;
  std::int64_t row_bytes = 0;
  Routing routing;
  std::span<const float> topk_weights;
};

/// A view of one rank's rows of one step in the node's memory.
class PublishedRows {
 public:
  /// `local`: whose rows; `parity`: step mod 2.
  PublishedRows(const RankEngine& engine, const SegmentMap& map, int local, std::int64_t parity);
  [[nodiscard]] const std::byte* row(std::int64_t index, std::int64_t row_bytes) const {
    return rows_ + index * row_bytes;
  }
  [[nodiscard]] const std::byte* meta(std::int64_t index, std::int64_t meta_bytes) const {
    return metas_ + index * meta_bytes;
  }

 private:
  const std::byte* rows_;
  const std::byte* metas_;
};

/// Writes the rows that go anywhere, and the metas grouped by destination node (ascending), tokens
/// ascending in each group. Cost O(T (K + row)).
void publish_tokens(RankEngine& engine, const SegmentMap& map, const Placement& placement,
                    const OwnTokens& tokens, std::uint64_t step);

/// Writes `rows` expert rows of `row_bytes` for combine.
void publish_rows(RankEngine& engine, const SegmentMap& map, std::span<const std::byte> rows,
                  std::uint64_t step);

/// Index of the first meta of `destination` in `owner`'s group order.
std::int64_t first_meta(const StepCounts& counts, RankId owner, NodeId destination);

}  // namespace railwave::exec
