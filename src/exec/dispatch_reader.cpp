#include "exec/dispatch_reader.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/checked.hpp"
#include "base/copy.hpp"
#include "base/event_loop.hpp"
#include "exec/seconds.hpp"

namespace railwave::exec {

namespace {

/// Received rows of fewer bytes may still be in the cache when the experts read them.
constexpr std::int64_t kMoreThanCached = 8 << 20;

}  // namespace

DispatchReader::DispatchReader(const Setup& setup)
    : setup_(setup),
      context_(*setup.context),
      missing_(setup.handle->counts.rows[setup.context->engine->self().index()]),
      experts_(context_.memory),
      next_(setup.phase->streams().inbound.size(), 0, context_.memory),
      node_read_(static_cast<std::size_t>(setup.context->engine->fabric().size()), false,
                 context_.memory) {
  if (setup.fresh == nullptr) return;
  setup.fresh->taken_from.resize(static_cast<std::size_t>(missing_));
  setup.fresh->tokens_per_expert.assign(context_.placement->owned(context_.engine->self()).size(),
                                        0);
  if (!expert_major()) return;
  unknown_ = missing_;
  experts_.resize(static_cast<std::size_t>(missing_));
}

bool DispatchReader::read() {
  if (open_ && missing_ == 0) return true;
  const auto begin = Clock::now();
  if (unknown_ > 0) {
    visit(&DispatchReader::note);
    if (unknown_ == 0) start_over();  // every row is looked at once more, to be copied
  }
  if (unknown_ == 0) {
    if (!open_) open();
    visit(&DispatchReader::take);
  }
  const bool done = open_ && missing_ == 0;
  if (done && past_cache_) settle_copies();
  seconds_ += seconds_since(begin);
  return done;
}

void DispatchReader::open() {
  const HandleState& handle = *setup_.handle;
  if (setup_.fresh != nullptr) {
    if (expert_major()) find_places();
    setup_.fresh->rows = expert_major() ? handle.expert_rows.offsets.back() : missing_;
  }
  past_cache_ = handle.rows * context_.row_shape.element_bytes >= kMoreThanCached;
  out_ = setup_.buffers(handle.rows);
  open_ = true;
  if (expert_major()) return clear_padding();
  const auto slots = static_cast<std::size_t>(handle.rows * context_.top_k);
  std::fill_n(out_.topk_idx, slots, -1);
  std::fill_n(out_.topk_weights, slots, 0.0F);
}

void DispatchReader::visit(Visit what) {
  for (std::size_t local = 0; local < node_read_.size(); ++local) {
    visit_neighbour(static_cast<int>(local), what);
  }
  for (std::size_t i = 0; i < next_.size(); ++i) visit_stream(i, what);
}

void DispatchReader::visit_neighbour(int local, Visit what) {
  if (node_read_[static_cast<std::size_t>(local)]) return;
  const NodeId node = context_.engine->node();
  const RankId owner = context_.engine->topology().rank_at(node, local);
  const bool for_me = context_.counts->copies_of(owner, context_.engine->self()) > 0;
  if (for_me && !context_.rows->here(local)) return;
  node_read_[static_cast<std::size_t>(local)] = true;
  if (!for_me) return;
  const std::int64_t first = first_meta(*context_.counts, owner, node);
  const std::int64_t count = context_.counts->records_of(owner, node);
  for (std::int64_t i = first; i < first + count; ++i) {
    const RecordMeta meta(context_.rows->meta(local, i, context_.shape.meta_bytes));
    (this->*what)(meta, context_.rows->row(local, meta.token()), local);
  }
}

void DispatchReader::visit_stream(std::size_t index, Visit what) {
  const Stream& stream = setup_.phase->streams().inbound[index];
  const std::int64_t there = setup_.phase->arrived_records(stream);
  const std::byte* stage = setup_.phase->stage_of(stream);
  const int from = context_.engine->topology().local_of(stream.receiver);
  for (std::int64_t& i = next_[index]; i < there; ++i) {
    const std::byte* row = stage + context_.shape.row_offset(i, stream.records);
    (this->*what)(RecordMeta(stage + context_.shape.meta_offset(i)),
                  RowView::packed(row, context_.row_shape), from);
  }
}

int DispatchReader::local_expert(const RecordSlot& slot) const {
  if (slot.expert < 0) return -1;
  const ExpertId expert(slot.expert);
  if (context_.placement->owner(expert) != context_.engine->self()) return -1;
  return context_.placement->local_index(expert);
}

std::int64_t DispatchReader::number_of(const RecordMeta& meta, const RecordSlot& slot) const {
  const RankId source(static_cast<std::int32_t>(meta.source_rank()));
  return context_.counts->first_row_of(source, context_.engine->self()) + slot.row;
}

void DispatchReader::note(const RecordMeta& meta, const RowView&, int) {
  for (int k = 0; k < context_.top_k; ++k) {
    const RecordSlot slot = meta.slot(k);
    const int expert = local_expert(slot);
    if (expert < 0) continue;
    experts_[static_cast<std::size_t>(number_of(meta, slot))] = expert;
    --unknown_;
  }
}

void DispatchReader::start_over() {
  std::fill(next_.begin(), next_.end(), 0);
  node_read_.assign(node_read_.size(), false);
}

/// Counting sort: slots are numbered by (source rank, token, slot), and keep that order in a group.
void DispatchReader::find_places() {
  HandleState& handle = *setup_.fresh;
  for (const std::int32_t expert : experts_) {
    ++handle.tokens_per_expert[static_cast<std::size_t>(expert)];
  }
  auto& offsets = handle.expert_rows.offsets;
  offsets.reserve(handle.tokens_per_expert.size() + 1);
  offsets.assign(1, 0);
  for (const std::int64_t count : handle.tokens_per_expert) {
    offsets.push_back(offsets.back() + round_up(count, handle.expert_alignment));
  }
  std::pmr::vector<std::int64_t> next(offsets.begin(), offsets.end() - 1, context_.memory);
  handle.expert_rows.places.reserve(experts_.size());
  for (const std::int32_t expert : experts_) {
    handle.expert_rows.places.push_back(
        static_cast<std::uint32_t>(next[static_cast<std::size_t>(expert)]++));
  }
  experts_.clear();
}

void DispatchReader::clear_padding() {
  const HandleState& handle = *setup_.handle;
  const auto& offsets = handle.expert_rows.offsets;
  for (std::size_t e = 0; e + 1 < offsets.size(); ++e) {
    const std::int64_t first = offsets[e] + handle.tokens_per_expert[e];
    const auto rows = static_cast<std::size_t>(offsets[e + 1] - first);
    if (rows == 0) continue;
    const RowShape& shape = context_.row_shape;
    std::memset(out_.x + first * shape.element_bytes, 0,
                rows * static_cast<std::size_t>(shape.element_bytes));
    if (shape.scale_bytes > 0) {
      std::memset(out_.scales + first * shape.scale_bytes, 0,
                  rows * static_cast<std::size_t>(shape.scale_bytes));
    }
    std::fill_n(out_.topk_weights + first, rows, 0.0F);
  }
}

void DispatchReader::put_elements(std::byte* out, const std::byte* elements) const {
  const auto bytes = static_cast<std::size_t>(context_.row_shape.element_bytes);
  if (past_cache_) return copy_past_cache(out, elements, bytes);
  std::memcpy(out, elements, bytes);
}

void DispatchReader::put(std::int64_t place, const RowView& row) {
  const RowShape& shape = context_.row_shape;
  put_elements(out_.x + place * shape.element_bytes, row.elements);
  if (shape.scale_bytes == 0) return;
  std::memcpy(out_.scales + place * shape.scale_bytes, row.scales,
              static_cast<std::size_t>(shape.scale_bytes));
}

void DispatchReader::take(const RecordMeta& meta, const RowView& row, int from) {
  const HandleState& handle = *setup_.handle;
  bool copied = false;
  for (int k = 0; k < context_.top_k; ++k) {
    const RecordSlot slot = meta.slot(k);
    const int expert = local_expert(slot);
    if (expert < 0) continue;
    const std::int64_t number = number_of(meta, slot);
    const auto at = static_cast<std::size_t>(number);
    if (expert_major()) {
      const std::int64_t place = handle.expert_rows.places[at];
      put(place, row);
      out_.topk_weights[place] = slot.weight;
    } else {
      if (!copied) put(number, row);
      out_.topk_idx[number * context_.top_k + k] = expert;
      out_.topk_weights[number * context_.top_k + k] = slot.weight;
    }
    if (expert_major() || !copied) {
      if (setup_.fresh != nullptr) setup_.fresh->taken_from[at] = from;
      --missing_;
    }
    if (setup_.fresh != nullptr && !expert_major()) {
      ++setup_.fresh->tokens_per_expert[static_cast<std::size_t>(expert)];
    }
    copied = true;
  }
}

}  // namespace railwave::exec
