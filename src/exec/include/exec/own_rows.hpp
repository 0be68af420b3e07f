// A rank's rows and record metas: where its neighbours find them, and where it finds theirs.
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

/// One rank's dispatch input but for its rows, checked. Shapes: topk_weights [T, K] or empty.
struct OwnTokens {
  Routing routing;
  std::span<const float> topk_weights;
};

/// The rows of a node's ranks in one step: this rank's where the caller has them, its neighbours'
/// in their segments. A rank publishes only what others read, once the headers have told it what
/// that is; what it sends itself is packed from where it lies. Threads: the engine's.
class NodeRows {
 public:
  struct Setup {
    RankEngine* engine = nullptr;
    std::span<const SegmentMap> maps;  ///< of the node's ranks
    std::uint64_t step = 0;
    const std::byte* own = nullptr;  ///< [rows, row_bytes]
    std::int64_t rows = 0;
    std::int64_t row_bytes = 0;
  };
  explicit NodeRows(const Setup& setup);

  /// Makes one of this rank's rows readable for `reader`, a local rank.
  void copy_for(int reader, std::int64_t row);
  /// Tells those readers. REQUIRES: called once, after the last copy_for() and before this rank
  /// waits for anybody's rows.
  void publish();

  /// Are the rows of a local rank here? If not, this rank waits for them from now on.
  bool here(int local);
  /// REQUIRES: here(local), and the rank knows that this one reads the row.
  [[nodiscard]] const std::byte* row(int local, std::int64_t index) const {
    return base_[static_cast<std::size_t>(local)] + index * setup_.row_bytes;
  }
  /// REQUIRES: here(local).
  [[nodiscard]] const std::byte* meta(int local, std::int64_t index, std::int64_t meta_bytes) const;
  /// Ranks whose rows this rank waits for.
  [[nodiscard]] std::vector<RankId> awaited() const;

 private:
  [[nodiscard]] std::byte* published(int local) const;
  [[nodiscard]] bool is_here(int local) const;

  Setup setup_;
  int local_;
  std::vector<const std::byte*> base_;  // [G]
  std::vector<bool> here_;              // [G]
  std::vector<bool> waiting_;           // [G]
  std::vector<bool> readers_;           // [G]
  std::vector<bool> copied_;            // by row
};

/// Writes the metas of this rank's records into its segment, grouped by destination node
/// (ascending), tokens ascending in each group. They count as published with the rows.
/// Cost O(T K).
void write_metas(RankEngine& engine, const SegmentMap& map, const Placement& placement,
                 const OwnTokens& tokens, std::uint64_t step);

/// Index of the first meta of `destination` in `owner`'s group order.
std::int64_t first_meta(const StepCounts& counts, RankId owner, NodeId destination);

}  // namespace railwave::exec
