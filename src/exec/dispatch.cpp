#include "exec/dispatch.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/event_loop.hpp"
#include "base/fail.hpp"
#include "exec/record.hpp"
#include "exec/seconds.hpp"

namespace railwave::exec {

OwnPlaces own_places(const DispatchContext& context) {
  const Topology& topology = context.engine->topology();
  OwnPlaces places(static_cast<std::size_t>(topology.nodes()));
  for (int n = 0; n < topology.nodes(); ++n) {
    const NodeId node(n);
    if (node == context.engine->node()) continue;
    places[node.index()] =
        record_places(*context.plan, *context.counts, context.engine->self(), node);
  }
  return places;
}

void publish_tokens(const DispatchContext& context, const OwnPlaces& places) {
  const Topology& topology = context.engine->topology();
  const NodeId here = context.engine->node();
  const int self = context.engine->local();
  const auto meta = [&](std::int64_t index) {
    return RecordMeta(context.rows->meta(self, index, context.shape.meta_bytes));
  };
  for (int n = 0; n < topology.nodes(); ++n) {
    std::int64_t index = first_meta(*context.counts, context.engine->self(), NodeId(n));
    for (const RecordPlace& place : places[static_cast<std::size_t>(n)]) {
      const RankId driver =
          topology.drivers(here, place.rail)[static_cast<std::size_t>(place.lane)];
      context.rows->copy_for(topology.local_of(driver), meta(index++).token());
    }
  }
  std::int64_t index = first_meta(*context.counts, context.engine->self(), here);
  const std::int64_t end = index + context.counts->records_of(context.engine->self(), here);
  for (; index < end; ++index) {
    const RecordMeta record = meta(index);
    for (int k = 0; k < context.top_k; ++k) {
      const std::int32_t expert = record.slot(k).expert;
      if (expert < 0) continue;
      const RankId owner = context.placement->owner(ExpertId(expert));
      if (topology.node_of(owner) != here) continue;
      context.rows->copy_for(topology.local_of(owner), record.token());
    }
  }
  context.rows->publish();
}

DispatchSource::DispatchSource(const DispatchContext& context) : context_(context) {
  const Topology& topology = context.engine->topology();
  const NodeId node = context.engine->node();
  for (int local = 0; local < topology.ranks_at(node); ++local) {
    for (int n = 0; n < topology.nodes(); ++n) {
      first_meta_.push_back(first_meta(*context.counts, topology.rank_at(node, local), NodeId(n)));
    }
  }
}

const std::vector<RecordOwner>& DispatchSource::owners_of(const Stream& stream) {
  auto [at, fresh] = owners_.try_emplace(&stream);
  if (fresh) at->second = record_owners(*context_.plan, *context_.counts, stream);
  return at->second;
}

bool DispatchSource::ready(const Stream& stream, std::int64_t first, std::int64_t count) {
  const std::vector<RecordOwner>& owners = owners_of(stream);
  const auto begin = owners.begin() + first;
  return std::all_of(begin, begin + count,
                     [&](const RecordOwner& owner) { return context_.rows->here(owner.local); });
}

void DispatchSource::pack(const Stream& stream, std::int64_t first, std::int64_t count,
                          std::byte* out) {
  const auto begin = Clock::now();
  const auto nodes = static_cast<std::size_t>(context_.engine->topology().nodes());
  const std::vector<RecordOwner>& owners = owners_of(stream);
  std::byte* row_out = out + count * context_.shape.meta_bytes;
  std::int64_t own = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const RecordOwner& owner = owners[static_cast<std::size_t>(first + i)];
    const auto local = static_cast<std::size_t>(owner.local);
    const std::int64_t index =
        first_meta_[local * nodes + stream.pair.destination.index()] + owner.index;
    const std::byte* meta = context_.rows->meta(owner.local, index, context_.shape.meta_bytes);
    std::memcpy(out + i * context_.shape.meta_bytes, meta,
                static_cast<std::size_t>(context_.shape.meta_bytes));
    std::memcpy(row_out + i * context_.shape.row_bytes,
                context_.rows->row(owner.local, RecordMeta(meta).token()),
                static_cast<std::size_t>(context_.shape.row_bytes));
    own += owner.local == context_.engine->local() ? 1 : 0;
  }
  const double spent = seconds_since(begin);
  const double own_share = static_cast<double>(own) / static_cast<double>(count);
  own_s_ += spent * own_share;
  other_s_ += spent * (1 - own_share);
}

bool DispatchSource::is_sound(const RecordMeta& meta, NodeId source) const {
  const Topology& topology = context_.engine->topology();
  const auto ranks = static_cast<std::uint32_t>(topology.ranks());
  if (meta.source_rank() >= ranks ||
      topology.node_of(RankId(std::size_t{meta.source_rank()})) != source) {
    return false;
  }
  for (int k = 0; k < context_.top_k; ++k) {
    const RecordSlot slot = meta.slot(k);
    if (slot.expert == -1) continue;
    if (slot.expert < 0 || slot.expert >= context_.placement->experts()) return false;
    const RankId owner = context_.placement->owner(ExpertId(slot.expert));
    if (slot.row >= context_.counts->copies_of(RankId(std::size_t{meta.source_rank()}), owner)) {
      return false;
    }
  }
  return true;
}

Status DispatchSource::readers(const Stream& stream, std::int64_t first, std::int64_t count,
                               const std::byte* chunk, std::vector<std::uint8_t>& locals) {
  const Topology& topology = context_.engine->topology();
  for (std::int64_t i = 0; i < count; ++i) {
    const RecordMeta meta(chunk + i * context_.shape.meta_bytes);
    // Once, before anybody reads it: what follows uses the ids as indices.
    if (!is_sound(meta, stream.pair.source)) {
      return fail(ErrorCode::ProtocolViolation, stream.sender, "records",
                  fmt::format("record {} from rank {} names a source, an expert or a row that can "
                              "not be; the network or the sender is broken",
                              first + i, stream.sender.value));
    }
    for (int k = 0; k < context_.top_k; ++k) {
      const std::int32_t expert = meta.slot(k).expert;
      if (expert < 0) continue;
      const RankId owner = context_.placement->owner(ExpertId(expert));
      if (topology.node_of(owner) != context_.engine->node()) continue;
      locals[static_cast<std::size_t>(topology.local_of(owner))] = 1;
    }
  }
  return {};
}

void DispatchSource::report(PhaseReport& out) const {
  out.pack_s += own_s_;
  out.relocate_s += other_s_;
}

DispatchReader::DispatchReader(const DispatchContext& context, const Phase& phase,
                               std::function<ReceiveBuffers()> buffers)
    : context_(context),
      phase_(phase),
      buffers_(std::move(buffers)),
      missing_(context.counts->rows[context.engine->self().index()]),
      next_(phase.streams().inbound.size(), 0),
      node_read_(static_cast<std::size_t>(context.engine->fabric().size())) {}

void DispatchReader::open_buffers() {
  out_ = buffers_();
  const auto slots = static_cast<std::size_t>(missing_ * context_.top_k);
  std::fill_n(out_.topk_idx, slots, -1);
  std::fill_n(out_.topk_weights, slots, 0.0F);
}

bool DispatchReader::read() {
  if (missing_ == 0) return true;
  const auto begin = Clock::now();
  if (!std::exchange(open_, true)) open_buffers();
  for (std::size_t local = 0; local < node_read_.size(); ++local) {
    read_neighbour(static_cast<int>(local));
  }
  for (std::size_t i = 0; i < next_.size(); ++i) read_stream(i);
  seconds_ += seconds_since(begin);
  return missing_ == 0;
}

void DispatchReader::read_neighbour(int local) {
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
    take(meta, context_.rows->row(local, meta.token()), local);
  }
}

void DispatchReader::read_stream(std::size_t index) {
  const Stream& stream = phase_.streams().inbound[index];
  const std::int64_t there = phase_.arrived_records(stream);
  const std::byte* stage = phase_.stage_of(stream);
  const int from = context_.engine->topology().local_of(stream.receiver);
  for (std::int64_t& i = next_[index]; i < there; ++i) {
    take(RecordMeta(stage + context_.shape.meta_offset(i)),
         stage + context_.shape.row_offset(i, stream.records), from);
  }
}

void DispatchReader::take(const RecordMeta& meta, const std::byte* row, int from) {
  const RankId self = context_.engine->self();
  std::int64_t place = -1;
  for (int k = 0; k < context_.top_k; ++k) {
    const RecordSlot slot = meta.slot(k);
    if (slot.expert < 0 || context_.placement->owner(ExpertId(slot.expert)) != self) continue;
    if (place < 0) {
      const RankId source(static_cast<std::int32_t>(meta.source_rank()));
      place = context_.counts->first_row_of(source, self) + slot.row;
      std::memcpy(out_.x + place * context_.shape.row_bytes, row,
                  static_cast<std::size_t>(context_.shape.row_bytes));
      out_.taken_from[place] = from;
      --missing_;
    }
    const int expert = context_.placement->local_index(ExpertId(slot.expert));
    out_.topk_idx[place * context_.top_k + k] = expert;
    out_.topk_weights[place * context_.top_k + k] = slot.weight;
    ++out_.tokens_per_expert[expert];
  }
}

namespace {

/// The rows of one record on this node, ranks ascending.
void append_rows(const DispatchContext& context, const RecordMeta& meta, RowRefs& out) {
  const Topology& topology = context.engine->topology();
  const RankId source(static_cast<std::int32_t>(meta.source_rank()));
  const std::size_t first = out.refs.size();
  for (int k = 0; k < context.top_k; ++k) {
    const RecordSlot slot = meta.slot(k);
    if (slot.expert < 0) continue;
    const RankId owner = context.placement->owner(ExpertId(slot.expert));
    if (topology.node_of(owner) != context.engine->node()) continue;
    const int local = topology.local_of(owner);
    const bool seen =
        std::any_of(out.refs.begin() + static_cast<std::ptrdiff_t>(first), out.refs.end(),
                    [&](const RowRef& ref) { return ref.local == local; });
    if (!seen) out.refs.push_back({local, context.counts->first_row_of(source, owner) + slot.row});
  }
  std::sort(out.refs.begin() + static_cast<std::ptrdiff_t>(first), out.refs.end(),
            [](const RowRef& a, const RowRef& b) { return a.local < b.local; });
  out.close();
}

void remember_forwarded(const DispatchContext& context, const Phase& phase, HandleState& handle) {
  for (const Stream& stream : phase.streams().inbound) {
    if (stream.receiver != context.engine->self()) continue;
    ForwardedStream forwarded{stream, {}};
    const std::byte* stage = phase.stage_of(stream);
    for (std::int64_t i = 0; i < stream.records; ++i) {
      append_rows(context, RecordMeta(stage + context.shape.meta_offset(i)), forwarded.records);
    }
    handle.forwarded.push_back(std::move(forwarded));
  }
}

/// Each token's partials in node order: (token, place) pairs sorted by token keep the node order,
/// since the groups are walked node by node.
void remember_partials(const DispatchContext& context, const OwnPlaces& own, HandleState& handle) {
  std::vector<std::pair<std::uint32_t, PartialPlace>> places;
  for (std::size_t n = 0; n < own.size(); ++n) {
    const NodeId node(n);
    std::int64_t index = first_meta(*context.counts, context.engine->self(), node);
    for (const RecordPlace& place : own[n]) {
      const RecordMeta meta(
          context.rows->meta(context.engine->local(), index++, context.shape.meta_bytes));
      places.push_back({meta.token(), {node, place}});
    }
  }
  std::stable_sort(places.begin(), places.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  handle.first_partial.assign(static_cast<std::size_t>(handle.tokens) + 1, 0);
  for (const auto& [token, place] : places) {
    ++handle.first_partial[token + 1];
    handle.partials.push_back(place);
  }
  for (std::size_t t = 1; t < handle.first_partial.size(); ++t) {
    handle.first_partial[t] += handle.first_partial[t - 1];
  }
}

void remember_own_node(const DispatchContext& context, HandleState& handle) {
  const RankId self = context.engine->self();
  const NodeId node = context.engine->node();
  const std::int64_t first = first_meta(*context.counts, self, node);
  const std::int64_t count = context.counts->records_of(self, node);
  for (std::int64_t i = first; i < first + count; ++i) {
    const RecordMeta meta(context.rows->meta(context.engine->local(), i, context.shape.meta_bytes));
    while (handle.own_node.size() < meta.token()) handle.own_node.close();
    append_rows(context, meta, handle.own_node);
  }
  while (handle.own_node.size() < static_cast<std::size_t>(handle.tokens)) handle.own_node.close();
}

}  // namespace

void remember_rows(const DispatchContext& context, const Phase& phase, const OwnPlaces& places,
                   HandleState& handle) {
  remember_forwarded(context, phase, handle);
  remember_own_node(context, handle);
  remember_partials(context, places, handle);
}

}  // namespace railwave::exec
