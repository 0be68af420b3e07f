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
  OwnPlaces places(static_cast<std::size_t>(topology.nodes()), context.memory);
  for (int n = 0; n < topology.nodes(); ++n) {
    const NodeId node(n);
    if (node == context.engine->node()) continue;
    places[node.index()] =
        record_places(*context.plan, *context.counts, context.engine->self(), node, context.memory);
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

DispatchSource::DispatchSource(const DispatchContext& context)
    : context_(context), first_meta_(context.memory), owners_(context.memory) {
  const Topology& topology = context.engine->topology();
  const NodeId node = context.engine->node();
  for (int local = 0; local < topology.ranks_at(node); ++local) {
    for (int n = 0; n < topology.nodes(); ++n) {
      first_meta_.push_back(first_meta(*context.counts, topology.rank_at(node, local), NodeId(n)));
    }
  }
}

std::span<const RecordOwner> DispatchSource::owners_of(const Stream& stream) {
  auto [at, fresh] = owners_.try_emplace(&stream);
  if (fresh) at->second = record_owners(*context_.plan, *context_.counts, stream, context_.memory);
  return at->second;
}

bool DispatchSource::ready(const Stream& stream, std::int64_t first, std::int64_t count) {
  const std::span<const RecordOwner> owners = owners_of(stream);
  const auto begin = owners.begin() + first;
  return std::all_of(begin, begin + count,
                     [&](const RecordOwner& owner) { return context_.rows->here(owner.local); });
}

Status DispatchSource::pack(const Stream& stream, std::int64_t first, std::int64_t count,
                            std::byte* out) {
  const auto begin = Clock::now();
  const auto nodes = static_cast<std::size_t>(context_.engine->topology().nodes());
  const std::span<const RecordOwner> owners = owners_of(stream);
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
    context_.rows->row(owner.local, RecordMeta(meta).token())
        .pack(context_.row_shape, row_out + i * context_.shape.row_bytes);
    own += owner.local == context_.engine->local() ? 1 : 0;
  }
  const double spent = seconds_since(begin);
  const double own_share = static_cast<double>(own) / static_cast<double>(count);
  own_s_ += spent * own_share;
  other_s_ += spent * (1 - own_share);
  return context_.rows->check_lent();
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
                               const std::byte* chunk, std::span<std::uint8_t> locals) {
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

}  // namespace railwave::exec
