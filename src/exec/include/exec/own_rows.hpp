// A rank's rows and record metas: where its neighbours find them, and where it finds theirs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include <railwave/error.hpp>
#include <railwave/ids.hpp>
#include <railwave/placement.hpp>
#include <railwave/row_layout.hpp>
#include <railwave/topology.hpp>

#include "base/memory.hpp"
#include "exec/rank_engine.hpp"
#include "exec/row_shape.hpp"
#include "exec/segment_map.hpp"
#include "exec/step_header.hpp"
#include "model/routing.hpp"

namespace railwave::exec {

/// One rank's dispatch input but for its rows, checked. Shapes: topk_weights [T, K] or empty.
struct OwnTokens {
  Routing routing;
  std::span<const float> topk_weights;
  RowLayout layout = RowLayout::RankMajor;
  Memory* memory = std::pmr::get_default_resource();  ///< for what is needed in between
};

/// The rows of a node's ranks in one step: this rank's where the caller has them, its neighbours'
/// in their segments. A rank publishes only what others read, once the headers have told it what
/// that is; what it sends itself is packed from where it lies. Rows in the segment's arena are not
/// copied: neighbours are told where they lie, and the rank's call ends when they have read them,
/// since the rows are the caller's again then. A call that fails cannot wait for that: it revokes
/// them, and neighbours that have not read them all fail, too. In a combine that returns or applies
/// weights each row has some beside it, in the place of the metas that only a dispatch has.
/// Threads: the engine's.
class NodeRows {
 public:
  struct Setup {
    RankEngine* engine = nullptr;
    std::span<const SegmentMap> maps;  ///< of the node's ranks
    std::uint64_t step = 0;
    RowShape shape;
    std::int64_t rows = 0;              ///< rows that have a number
    std::int64_t extent = 0;            ///< rows that lie there: more with padding
    const std::byte* own = nullptr;     ///< their elements
    const std::byte* scales = nullptr;  ///< their scales
    const float* weights = nullptr;     ///< `weights_per_row` of each
    std::int64_t weights_per_row = 0;
    std::span<const std::uint32_t> places{};  ///< [rows] where row i lies in the three; empty: at i
    Memory* memory = std::pmr::get_default_resource();
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
  [[nodiscard]] RowView row(int local, std::int64_t index) const {
    return lies_[static_cast<std::size_t>(local)].row(index);
  }
  /// The row's weights. REQUIRES: as row(), and weights_per_row > 0.
  [[nodiscard]] const float* weights(int local, std::int64_t index) const;
  /// To be asked after rows were read and before anybody gets to see what was made of them.
  /// Errors: PeerFailed naming a rank that has revoked them.
  [[nodiscard]] Status check_lent() const;
  /// Tells the neighbours whose rows lie in place that this rank reads nothing more of the step.
  /// Errors: of check_lent().
  Status finish_reading();
  /// Takes this rank's rows back although they may still be read. REQUIRES: the group ends.
  void revoke();
  /// Has every reader of this rank's rows in place finished?
  [[nodiscard]] bool released() const;
  /// Readers that have not. REQUIRES: !released().
  [[nodiscard]] std::vector<RankId> readers_left() const;
  /// REQUIRES: here(local).
  [[nodiscard]] const std::byte* meta(int local, std::int64_t index, std::int64_t meta_bytes) const;
  /// Ranks whose rows this rank waits for.
  [[nodiscard]] std::vector<RankId> awaited() const;

 private:
  [[nodiscard]] std::byte* published(int local) const {
    return published_[static_cast<std::size_t>(local)];
  }
  /// How a rank's rows lie.
  struct Lies {
    const std::byte* elements = nullptr;
    const std::byte* scales = nullptr;
    std::int64_t element_step = 0;  // bytes from row to row
    std::int64_t scale_step = 0;
    const std::uint32_t* places = nullptr;  // where row i lies; null: at i
    bool in_place = false;
    [[nodiscard]] std::int64_t place(std::int64_t index) const {
      return places == nullptr ? index : places[index];
    }
    [[nodiscard]] RowView row(std::int64_t index) const {
      const std::int64_t at = place(index);
      return {elements + at * element_step, scales + at * scale_step};
    }
  };
  [[nodiscard]] Lies own_lies() const;
  [[nodiscard]] Lies lies_of(int local) const;
  [[nodiscard]] bool in_arena(const std::byte* begin, std::int64_t bytes) const;
  void write_place();
  [[nodiscard]] RankId rank_of(std::size_t local) const {
    return setup_.engine->topology().rank_at(setup_.engine->node(), static_cast<int>(local));
  }
  [[nodiscard]] bool reads_still(std::size_t reader) const;
  [[nodiscard]] std::byte* published_weights(int local, std::int64_t index) const;
  [[nodiscard]] bool is_here(int local) const;

  Setup setup_;
  int local_;
  bool given_ = false;                      // this rank's rows, to its neighbours
  std::pmr::vector<std::byte*> published_;  // [G] rows in the segments
  std::pmr::vector<Lies> lies_;             // [G] of those that are here
  std::pmr::vector<bool> here_;             // [G]
  std::pmr::vector<bool> waiting_;          // [G]
  std::pmr::vector<bool> readers_;          // [G]
  std::pmr::vector<bool> copied_;           // by row
};

/// Writes the metas of this rank's records into its segment, grouped by destination node
/// (ascending), tokens ascending in each group. They count as published with the rows.
/// Cost O(T K).
void write_metas(RankEngine& engine, const SegmentMap& map, const Placement& placement,
                 const OwnTokens& tokens, std::uint64_t step);
/// Writes metas that an earlier dispatch has left in its handle.
void write_metas(RankEngine& engine, const SegmentMap& map, std::span<const std::byte> metas,
                 std::uint64_t step);

/// Index of the first meta of `destination` in `owner`'s group order.
std::int64_t first_meta(const StepCounts& counts, RankId owner, NodeId destination);

}  // namespace railwave::exec
