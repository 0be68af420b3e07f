#include "exec/own_rows.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/fail.hpp"
#include "exec/record.hpp"
#include "transport/shared_word.hpp"

namespace railwave::exec {

NodeRows::NodeRows(const Setup& setup)
    : setup_(setup),
      local_(setup.engine->local()),
      published_(setup.memory),
      lies_(setup.maps.size(), setup.memory),
      here_(setup.maps.size(), false, setup.memory),
      waiting_(setup.maps.size(), false, setup.memory),
      readers_(setup.maps.size(), false, setup.memory),
      copied_(static_cast<std::size_t>(setup.rows), false, setup.memory) {
  published_.reserve(setup.maps.size());
  for (std::size_t local = 0; local < setup.maps.size(); ++local) {
    const SegmentMap& map = setup.maps[local];
    // A neighbour's segment is only read: row(), weights() and meta() give it out as const.
    published_.push_back(
        const_cast<std::byte*>(setup.engine->fabric().segment(static_cast<int>(local)).data()) +
        map.rows_of(setup.step));
  }
  here_[static_cast<std::size_t>(local_)] = true;
  lies_[static_cast<std::size_t>(local_)] = own_lies();
}

bool NodeRows::in_arena(const std::byte* begin, std::int64_t bytes) const {
  const SegmentMap& map = setup_.maps[static_cast<std::size_t>(local_)];
  const auto first = reinterpret_cast<std::uintptr_t>(setup_.engine->fabric().own().data());
  const auto at = reinterpret_cast<std::uintptr_t>(begin);
  return at >= first + static_cast<std::uintptr_t>(map.arena) &&
         at + static_cast<std::uintptr_t>(bytes) <= first + static_cast<std::uintptr_t>(map.bytes);
}

NodeRows::Lies NodeRows::own_lies() const {
  const RowShape& shape = setup_.shape;
  Lies lies{setup_.own, setup_.scales, shape.element_bytes, shape.scale_bytes,
            setup_.places.empty() ? nullptr : setup_.places.data()};
  lies.in_place =
      setup_.extent > 0 && in_arena(setup_.own, setup_.extent * shape.element_bytes) &&
      (shape.scale_bytes == 0 || in_arena(setup_.scales, setup_.extent * shape.scale_bytes));
  return lies;
}

namespace {

/// What a rank tells of its rows, in a line of its segment.
struct RowsPlace {
  std::int64_t elements = 0;  // offset in the segment, 0: packed, in the region for rows
  std::int64_t scales = 0;
  std::int64_t placed = 0;  // 1: row i lies at the i-th u32 of the region for rows
};

}  // namespace

void NodeRows::write_place() {
  const Lies& own = lies_[static_cast<std::size_t>(local_)];
  std::byte* segment = setup_.engine->fabric().own().data();
  RowsPlace place;
  if (own.in_place) {
    place.elements = own.elements - segment;
    if (setup_.shape.scale_bytes > 0) place.scales = own.scales - segment;
    place.placed = own.places != nullptr ? 1 : 0;
    const auto places = std::as_bytes(setup_.places);
    std::copy(places.begin(), places.end(), published(local_));
  }
  const SegmentMap& map = setup_.maps[static_cast<std::size_t>(local_)];
  std::memcpy(segment + map.rows_place_of(setup_.step), &place, sizeof(place));
}

NodeRows::Lies NodeRows::lies_of(int local) const {
  const RowShape& shape = setup_.shape;
  const std::byte* segment = setup_.engine->fabric().segment(local).data();
  const std::byte* rows = published(local);
  RowsPlace place;
  const SegmentMap& map = setup_.maps[static_cast<std::size_t>(local)];
  std::memcpy(&place, segment + map.rows_place_of(setup_.step), sizeof(place));
  if (place.elements == 0) {
    return {rows, rows + shape.element_bytes, shape.bytes(), shape.bytes(), nullptr};
  }
  return {segment + place.elements,
          segment + place.scales,
          shape.element_bytes,
          shape.scale_bytes,
          place.placed == 0 ? nullptr : reinterpret_cast<const std::uint32_t*>(rows),
          true};
}

std::byte* NodeRows::published_weights(int local, std::int64_t index) const {
  return published(local) + setup_.maps[static_cast<std::size_t>(local)].metas +
         index * setup_.weights_per_row * 4;
}

const float* NodeRows::weights(int local, std::int64_t index) const {
  if (local == local_) {
    const Lies& own = lies_[static_cast<std::size_t>(local)];
    return setup_.weights + own.place(index) * setup_.weights_per_row;
  }
  return reinterpret_cast<const float*>(published_weights(local, index));
}

void NodeRows::copy_for(int reader, std::int64_t row) {
  if (reader == local_) return;
  readers_[static_cast<std::size_t>(reader)] = true;
  const auto index = static_cast<std::size_t>(row);
  if (copied_[index]) return;
  copied_[index] = true;
  const Lies& own = lies_[static_cast<std::size_t>(local_)];
  if (!own.in_place) {
    own.row(row).pack(setup_.shape, published(local_) + row * setup_.shape.bytes());
  }
  if (setup_.weights_per_row == 0) return;
  std::memcpy(published_weights(local_, row), weights(local_, row),
              static_cast<std::size_t>(4 * setup_.weights_per_row));
}

void NodeRows::publish() {
  write_place();
  given_ = true;
  const SegmentMap& map = setup_.maps[static_cast<std::size_t>(local_)];
  transport::publish(
      reinterpret_cast<std::uint64_t*>(setup_.engine->fabric().own().data() + map.rows_word),
      setup_.step);
  for (std::size_t reader = 0; reader < readers_.size(); ++reader) {
    if (readers_[reader]) setup_.engine->fabric().signal(static_cast<int>(reader));
  }
}

bool NodeRows::is_here(int local) const {
  const SegmentMap& map = setup_.maps[static_cast<std::size_t>(local)];
  const std::byte* word = setup_.engine->fabric().segment(local).data() + map.rows_word;
  // Ranks publish step after step, whatever phase ends first.
  return transport::observe(reinterpret_cast<const std::uint64_t*>(word)) >= setup_.step;
}

bool NodeRows::here(int local) {
  const auto at = static_cast<std::size_t>(local);
  if (!here_[at]) {
    here_[at] = is_here(local);
    waiting_[at] = !here_[at];
    if (here_[at]) lies_[at] = lies_of(local);
  }
  return here_[at];
}

Status NodeRows::check_lent() const {
  for (std::size_t local = 0; local < lies_.size(); ++local) {
    if (!lies_[local].in_place || static_cast<int>(local) == local_) continue;
    const std::byte* word = setup_.engine->fabric().segment(static_cast<int>(local)).data() +
                            setup_.maps[local].revoked_word;
    if (transport::recheck(reinterpret_cast<const std::uint64_t*>(word)) == 0) continue;
    const RankId owner = rank_of(local);
    return fail(ErrorCode::PeerFailed, owner, "rows",
                fmt::format("step {}: rank {} has failed and taken its rows back while this rank "
                            "was reading them",
                            setup_.step, owner.value));
  }
  return {};
}

void NodeRows::revoke() {
  if (!given_ || released()) return;
  const SegmentMap& map = setup_.maps[static_cast<std::size_t>(local_)];
  std::byte* word = setup_.engine->fabric().own().data() + map.revoked_word;
  transport::publish_before_changes(reinterpret_cast<std::uint64_t*>(word), setup_.step);
}

Status NodeRows::finish_reading() {
  RAILWAVE_TRY(check_lent());
  const SegmentMap& map = setup_.maps[static_cast<std::size_t>(local_)];
  std::byte* word = setup_.engine->fabric().own().data() + map.read_word(setup_.step);
  transport::publish(reinterpret_cast<std::uint64_t*>(word), setup_.step);
  for (std::size_t local = 0; local < lies_.size(); ++local) {
    const auto peer = static_cast<int>(local);
    if (peer != local_ && lies_[local].in_place) setup_.engine->fabric().signal(peer);
  }
  return {};
}

bool NodeRows::reads_still(std::size_t reader) const {
  if (!readers_[reader]) return false;
  const std::byte* word = setup_.engine->fabric().segment(static_cast<int>(reader)).data() +
                          setup_.maps[reader].read_word(setup_.step);
  return transport::observe(reinterpret_cast<const std::uint64_t*>(word)) != setup_.step;
}

bool NodeRows::released() const {
  if (!lies_[static_cast<std::size_t>(local_)].in_place) return true;
  for (std::size_t reader = 0; reader < readers_.size(); ++reader) {
    if (reads_still(reader)) return false;
  }
  return true;
}

std::vector<RankId> NodeRows::readers_left() const {
  std::vector<RankId> ranks;
  for (std::size_t reader = 0; reader < readers_.size(); ++reader) {
    if (!reads_still(reader)) continue;
    ranks.push_back(rank_of(reader));
  }
  return ranks;
}

const std::byte* NodeRows::meta(int local, std::int64_t index, std::int64_t meta_bytes) const {
  return published(local) + setup_.maps[static_cast<std::size_t>(local)].metas + index * meta_bytes;
}

std::vector<RankId> NodeRows::awaited() const {
  std::vector<RankId> ranks;
  for (std::size_t local = 0; local < waiting_.size(); ++local) {
    if (!waiting_[local] || is_here(static_cast<int>(local))) continue;
    ranks.push_back(rank_of(local));
  }
  return ranks;
}

namespace {

/// Writes metas in one pass over the tokens.
class MetaWriter {
 public:
  MetaWriter(const RankEngine& engine, const Placement& placement, const OwnTokens& tokens,
             std::byte* metas)
      : topology_(engine.topology()),
        placement_(placement),
        self_(engine.self()),
        tokens_(tokens),
        top_k_(tokens.routing.top_k),
        meta_bytes_(record_meta_bytes(top_k_)),
        metas_(metas),
        next_row_(static_cast<std::size_t>(topology_.ranks()), 0, tokens.memory),
        next_meta_(tokens.memory),
        slots_(static_cast<std::size_t>(top_k_), tokens.memory),
        nodes_(tokens.memory) {}

  void write_all() {
    place_groups(tokens_.routing);
    for (std::int64_t token = 0; token < tokens_.routing.tokens; ++token) write(token);
  }

 private:
  /// Finds where each node's group begins.
  void place_groups(const Routing& routing) {
    next_meta_.assign(static_cast<std::size_t>(topology_.nodes()) + 1, 0);
    for (std::int64_t token = 0; token < routing.tokens; ++token) {
      for (const NodeId node : nodes_of(routing, token)) ++next_meta_[node.index() + 1];
    }
    for (std::size_t n = 1; n < next_meta_.size(); ++n) next_meta_[n] += next_meta_[n - 1];
  }

  void write(std::int64_t token) {
    number_rows(token);
    for (const NodeId node : nodes_of(tokens_.routing, token)) {
      std::byte* at = metas_ + next_meta_[node.index()]++ * meta_bytes_;
      RecordMeta::write_head(at, static_cast<std::uint32_t>(self_.value),
                             static_cast<std::uint32_t>(token));
      for (int k = 0; k < top_k_; ++k) {
        RecordMeta::write_slot(at, k, slots_[static_cast<std::size_t>(k)]);
      }
    }
  }

  /// Gives each copy of the token its number among the rows (self -> rank): one for the slots of
  /// a rank, in the expert-major layout one for each slot.
  void number_rows(std::int64_t token) {
    const std::size_t first = static_cast<std::size_t>(token) * slots_.size();
    const bool one_each = tokens_.layout == RowLayout::ExpertMajor;
    for (std::size_t k = 0; k < slots_.size(); ++k) {
      RecordSlot& slot = slots_[k];
      slot = RecordSlot{};
      slot.expert = static_cast<std::int32_t>(tokens_.routing.topk_idx[first + k]);
      if (slot.expert < 0) continue;
      slot.weight = tokens_.topk_weights.empty() ? 1.0F : tokens_.topk_weights[first + k];
      const RankId owner = placement_.owner(ExpertId(slot.expert));
      const auto same = std::find_if(
          slots_.begin(), slots_.begin() + static_cast<std::ptrdiff_t>(k),
          [&](const RecordSlot& earlier) {
            return earlier.expert >= 0 && placement_.owner(ExpertId(earlier.expert)) == owner;
          });
      const bool seen = !one_each && same != slots_.begin() + static_cast<std::ptrdiff_t>(k);
      slot.row = seen ? same->row : next_row_[owner.index()]++;
    }
  }

  std::span<const NodeId> nodes_of(const Routing& routing, std::int64_t token) {
    nodes_.clear();
    const std::size_t first = static_cast<std::size_t>(token) * slots_.size();
    for (std::size_t k = 0; k < slots_.size(); ++k) {
      const std::int64_t expert = routing.topk_idx[first + k];
      if (expert < 0) continue;
      const NodeId node =
          topology_.node_of(placement_.owner(ExpertId(static_cast<std::int32_t>(expert))));
      if (std::find(nodes_.begin(), nodes_.end(), node) == nodes_.end()) nodes_.push_back(node);
    }
    return nodes_;
  }

  const Topology& topology_;
  const Placement& placement_;
  RankId self_;
  const OwnTokens& tokens_;
  int top_k_;
  std::int64_t meta_bytes_;
  std::byte* metas_;
  std::pmr::vector<std::uint32_t> next_row_;  // [P]
  std::pmr::vector<std::int64_t> next_meta_;  // [N+1]
  std::pmr::vector<RecordSlot> slots_;        // [K] of the current token
  std::pmr::vector<NodeId> nodes_;
};

}  // namespace

namespace {

std::byte* own_metas(RankEngine& engine, const SegmentMap& map, std::uint64_t step) {
  return engine.fabric().own().data() + map.rows_of(step) + map.metas;
}

}  // namespace

void write_metas(RankEngine& engine, const SegmentMap& map, const Placement& placement,
                 const OwnTokens& tokens, std::uint64_t step) {
  MetaWriter(engine, placement, tokens, own_metas(engine, map, step)).write_all();
}

void write_metas(RankEngine& engine, const SegmentMap& map, std::span<const std::byte> metas,
                 std::uint64_t step) {
  std::copy(metas.begin(), metas.end(), own_metas(engine, map, step));
}

std::int64_t first_meta(const StepCounts& counts, RankId owner, NodeId destination) {
  std::int64_t first = 0;
  for (int n = 0; n < destination.value; ++n) first += counts.records_of(owner, NodeId(n));
  return first;
}

}  // namespace railwave::exec
