#include "exec/remember_rows.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "exec/record.hpp"

namespace railwave::exec {
namespace {

/// The rows of one record on this node, ranks ascending: one a rank, in the expert-major layout one
/// a slot, slots ascending.
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
        context.layout == RowLayout::RankMajor &&
        std::any_of(out.refs.begin() + static_cast<std::ptrdiff_t>(first), out.refs.end(),
                    [&](const RowRef& ref) { return ref.local == local; });
    if (seen) continue;
    out.refs.push_back({local, k, context.counts->first_row_of(source, owner) + slot.row});
  }
  std::sort(out.refs.begin() + static_cast<std::ptrdiff_t>(first), out.refs.end(),
            [](const RowRef& a, const RowRef& b) {
              return std::tie(a.local, a.slot) < std::tie(b.local, b.slot);
            });
  out.close();
}

void remember_forwarded(const DispatchContext& context, const Phase& phase, HandleState& handle) {
  for (const Stream& stream : phase.streams().inbound) {
    if (stream.receiver != context.engine->self()) continue;
    ForwardedStream forwarded{stream, RowRefs(&handle.memory)};
    forwarded.records.first.reserve(static_cast<std::size_t>(stream.records) + 1);
    const std::byte* stage = phase.stage_of(stream);
    for (std::int64_t i = 0; i < stream.records; ++i) {
      append_rows(context, RecordMeta(stage + context.shape.meta_offset(i)), forwarded.records);
    }
    handle.forwarded.push_back(std::move(forwarded));
  }
}

/// Calls visit(token, place) for the records that leave the node, node by node.
template <class Visit>
void visit_partials(const DispatchContext& context, const OwnPlaces& own, const Visit& visit) {
  for (std::size_t n = 0; n < own.size(); ++n) {
    const NodeId node(n);
    std::int64_t index = first_meta(*context.counts, context.engine->self(), node);
    for (const RecordPlace& place : own[n]) {
      const RecordMeta meta(
          context.rows->meta(context.engine->local(), index++, context.shape.meta_bytes));
      visit(meta.token(), PartialPlace{node, place});
    }
  }
}

/// Each token's partials in node order: a counting sort by token keeps it.
void remember_partials(const DispatchContext& context, const OwnPlaces& own, HandleState& handle) {
  auto& first = handle.first_partial;
  first.assign(static_cast<std::size_t>(handle.tokens) + 1, 0);
  visit_partials(context, own,
                 [&](std::uint32_t token, const PartialPlace&) { ++first[token + 1]; });
  std::partial_sum(first.begin(), first.end(), first.begin());
  handle.partials.resize(first.back());
  std::pmr::vector<std::size_t> next(first.begin(), first.end(), context.memory);
  visit_partials(context, own, [&](std::uint32_t token, const PartialPlace& place) {
    handle.partials[next[token]++] = place;
  });
}

void remember_metas(const DispatchContext& context, HandleState& handle) {
  const int nodes = context.engine->topology().nodes();
  const std::int64_t count = first_meta(*context.counts, context.engine->self(), NodeId(nodes));
  const std::byte* first = context.rows->meta(context.engine->local(), 0, context.shape.meta_bytes);
  handle.metas.assign(first, first + count * context.shape.meta_bytes);
}

void remember_own_node(const DispatchContext& context, HandleState& handle) {
  const RankId self = context.engine->self();
  const NodeId node = context.engine->node();
  const std::int64_t first = first_meta(*context.counts, self, node);
  const std::int64_t count = context.counts->records_of(self, node);
  handle.own_node.first.reserve(static_cast<std::size_t>(handle.tokens) + 1);
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
  remember_metas(context, handle);
  remember_forwarded(context, phase, handle);
  remember_own_node(context, handle);
  remember_partials(context, places, handle);
}

}  // namespace railwave::exec
