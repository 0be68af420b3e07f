#include "exec/segment_map.hpp"

#include <algorithm>
#include <utility>

#include "exec/record.hpp"
#include "exec/step_header.hpp"
#include "plan/capacity.hpp"

namespace railwave::exec {
namespace {

constexpr std::int64_t kLine = 64;

class Bump {
 public:
  std::int64_t take(std::int64_t bytes) {
    const std::int64_t at = next_;
    next_ += round_up(bytes, kLine);
    return at;
  }
  [[nodiscard]] std::int64_t used() const { return next_; }

 private:
  std::int64_t next_ = 0;
};

struct StageNeed {
  std::int64_t bytes = 0;
  std::int64_t streams = 0;
};

std::int64_t record_bytes(const Limits& limits, bool backwards) {
  const std::int64_t meta =
      backwards ? weights_meta_bytes(limits.max_top_k) : record_meta_bytes(limits.max_top_k);
  return round_up(meta + limits.max_row_bytes, kLine);
}

/// Most that can end at `rank` from the lanes of one slice on one rail.
void add_slice(const Topology& topology, const Limits& limits, NodePair slice, bool backwards,
               RankId rank, StageNeed& need) {
  const std::int64_t record = record_bytes(limits, backwards);
  for (int r = 0; r < topology.rails(); ++r) {
    const RailId rail(r);
    const std::int64_t load = plan::worst_case_records(topology, slice, rail, limits.max_tokens);
    if (load == 0) continue;
    const auto near = topology.drivers(slice.source, rail);
    const auto far = topology.drivers(slice.destination,
                                      topology.ingress(slice.source, slice.destination, rail));
    const int lanes = static_cast<int>(near.size());
    for (int lane = 0; lane < lanes; ++lane) {
      const auto i = static_cast<std::size_t>(lane);
      const RankId end = backwards ? near[i] : far[i % far.size()];
      if (end != rank) continue;
      need.bytes += ceil_div(load, lanes) * record;
      ++need.streams;
    }
  }
}

StageNeed stage_need(const Topology& topology, const Limits& limits, RankId rank, bool backwards) {
  const NodeId node = topology.node_of(rank);
  StageNeed need;
  for (int n = 0; n < topology.nodes(); ++n) {
    if (NodeId(n) == node) continue;
    const NodePair slice = backwards ? NodePair{node, NodeId(n)} : NodePair{NodeId(n), node};
    add_slice(topology, limits, slice, backwards, rank, need);
  }
  return need;
}

/// Most records that leave `rank` by the lanes of one slice on its egress rail `rail`.
std::int64_t sent_records(const Topology& topology, const Limits& limits, NodePair slice,
                          bool backwards, std::pair<RankId, RailId> from) {
  std::int64_t records = 0;
  for (int r = 0; r < topology.rails(); ++r) {
    const RailId rail(r);
    const std::int64_t load = plan::worst_case_records(topology, slice, rail, limits.max_tokens);
    const RailId there = topology.ingress(slice.source, slice.destination, rail);
    if (load == 0 || (backwards ? there : rail) != from.second) continue;
    const auto near = topology.drivers(slice.source, rail);
    const auto far = topology.drivers(slice.destination, there);
    for (std::size_t lane = 0; lane < near.size(); ++lane) {
      if ((backwards ? far[lane % far.size()] : near[lane]) != from.first) continue;
      records += ceil_div(load, static_cast<std::int64_t>(near.size()));
    }
  }
  return records;
}

}  // namespace

std::int64_t most_sent_bytes(const Topology& topology, const Limits& limits, RankId rank,
                             RailId rail) {
  const NodeId node = topology.node_of(rank);
  std::int64_t forth = 0;
  std::int64_t back = 0;
  for (int n = 0; n < topology.nodes(); ++n) {
    const NodeId other(n);
    if (other == node) continue;
    forth += sent_records(topology, limits, {node, other}, false, {rank, rail});
    back += sent_records(topology, limits, {other, node}, true, {rank, rail});
  }
  return std::max(forth * record_bytes(limits, false), back * record_bytes(limits, true));
}

SegmentMap SegmentMap::of(const Topology& topology, const Limits& limits, RankId rank) {
  const std::int64_t nodes = topology.nodes();
  const std::int64_t rails = topology.rails();
  const StageNeed forth = stage_need(topology, limits, rank, false);
  const StageNeed back = stage_need(topology, limits, rank, true);
  std::int64_t most_ranks = 0;
  for (int n = 0; n < topology.nodes(); ++n) {
    most_ranks = std::max<std::int64_t>(most_ranks, topology.ranks_at(NodeId(n)));
  }
  const auto header =
      static_cast<std::int64_t>(step_header_bytes(topology.nodes(), topology.ranks()));
  const std::int64_t phases = limits.phases;
  Bump bump;
  SegmentMap map;
  map.phases = phases;
  map.rails = rails;
  map.nodes = nodes;
  map.lanes = std::max(forth.streams, back.streams);
  map.header_word = bump.take(8 * (4 + phases));
  map.rows_word = map.header_word + 8 * 2;
  map.revoked_word = map.header_word + 8 * 3;
  map.read_words = map.header_word + 8 * 4;
  map.level_words = bump.take(8 * phases * rails);
  map.heard_words = bump.take(8 * phases * rails * nodes);
  map.remote_words = bump.take(8 * 2 * nodes);
  map.absent_words = bump.take(8 * 2 * nodes);
  map.stream_words = bump.take(8 * phases * map.lanes);
  map.header_stride = round_up(header, kLine);
  map.header = bump.take(2 * map.header_stride);
  map.remote_stride = round_up(most_ranks * header, kLine);
  map.remote = bump.take(2 * nodes * map.remote_stride);
  map.rows_place = bump.take((phases + 1) * kLine);
  map.metas =
      round_up(std::max(limits.max_tokens, limits.max_recv_rows) * limits.max_row_bytes, kLine);
  const std::int64_t groups = std::min<std::int64_t>(nodes, limits.max_top_k);
  const std::int64_t metas = limits.max_tokens * groups * record_meta_bytes(limits.max_top_k);
  const std::int64_t weights = limits.max_recv_rows * limits.max_top_k * 4;
  map.rows_stride = round_up(map.metas + std::max(metas, weights), kLine);
  map.rows = bump.take((phases + 1) * map.rows_stride);
  map.stage_bytes = std::max(forth.bytes, back.bytes);
  map.stage = bump.take(phases * map.stage_bytes);
  map.arena = bump.take(limits.shared_bytes);
  map.bytes = bump.used();
  return map;
}

HeaderRoute header_route(const Topology& topology, NodeId source, NodeId destination) {
  const auto rails = topology.eligible(source, destination);
  const auto turn = static_cast<std::size_t>(source.value + destination.value) % rails.size();
  const RailId rail = rails[turn];
  const RailId far = topology.ingress(source, destination, rail);
  return {topology.drivers(source, rail).front(), topology.drivers(destination, far).front(), rail};
}

}  // namespace railwave::exec
