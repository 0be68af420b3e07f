#include "exec/streams.hpp"

#include <algorithm>
#include <tuple>

#include "base/checked.hpp"

namespace railwave::exec {
namespace {

/// Index, among its home rail's records, of the first record that `rank` owns for `destination`.
std::int64_t first_index(const Topology& topology, const StepCounts& counts, RankId rank,
                         NodeId destination) {
  const NodeId node = topology.node_of(rank);
  std::int64_t first = 0;
  for (RankId p = topology.first_rank(node); p < rank; p = RankId(p.value + 1)) {
    if (topology.home_rail(p) == topology.home_rail(rank)) {
      first += counts.records_of(p, destination);
    }
  }
  return first;
}

/// The streams of one plan pair, in the direction of travel, without places in the stage.
void append_pair(const plan::DispatchPlan& plan, NodePair pair, Operation direction,
                 std::vector<Stream>& out) {
  const Topology& topology = plan.topology();
  const auto window = plan.window_of(pair);
  if (!window) return;
  const std::vector<std::int64_t> loads = plan.rail_loads(pair);
  for (int r = 0; r < topology.rails(); ++r) {
    const RailId rail(r);
    const std::int64_t load = loads[rail.index()];
    if (load == 0) continue;
    const RailId far_rail = topology.ingress(pair.source, pair.destination, rail);
    const auto near = topology.drivers(pair.source, rail);
    const auto far = topology.drivers(pair.destination, far_rail);
    const int lanes = static_cast<int>(near.size());
    for (int lane = 0; lane < lanes; ++lane) {
      Stream stream;
      stream.pair = pair;
      stream.rail = rail;
      stream.lane = lane;
      stream.window = *window;
      stream.records = lane_records(load, lane, lanes);
      if (stream.records == 0) continue;
      stream.sender = near[static_cast<std::size_t>(lane)];
      stream.receiver = far[static_cast<std::size_t>(lane) % far.size()];
      stream.sender_rail = rail;
      stream.receiver_rail = far_rail;
      if (direction == Operation::Combine) {
        std::swap(stream.sender, stream.receiver);
        std::swap(stream.sender_rail, stream.receiver_rail);
      }
      out.push_back(stream);
    }
  }
}

/// Sorts by receiver and gives each stream its place in the receiver's stage.
void place(std::vector<Stream>& streams, const ChunkShape& shape) {
  std::stable_sort(streams.begin(), streams.end(), [](const Stream& a, const Stream& b) {
    return std::tie(a.receiver, a.pair, a.rail, a.lane) <
           std::tie(b.receiver, b.pair, b.rail, b.lane);
  });
  RankId receiver(-1);
  std::int64_t offset = 0;
  int ordinal = 0;
  for (Stream& stream : streams) {
    if (stream.receiver != receiver) {
      receiver = stream.receiver;
      offset = 0;
      ordinal = 0;
    }
    stream.stage_offset = offset;
    stream.stride = shape.stride();
    stream.ordinal = ordinal++;
    offset += shape.stage_bytes(stream.records);
  }
}

}  // namespace

NodeStreams node_streams(const plan::DispatchPlan& plan, NodeId node, Operation direction,
                         const ChunkShape& shape) {
  NodeStreams out;
  for (int n = 0; n < plan.topology().nodes(); ++n) {
    const NodeId other(n);
    if (other == node) continue;
    const NodePair leaving{node, other};
    const NodePair coming{other, node};
    const bool forth = direction == Operation::Dispatch;
    append_pair(plan, forth ? leaving : coming, direction, out.outbound);
    append_pair(plan, forth ? coming : leaving, direction, out.inbound);
  }
  place(out.inbound, shape);
  std::stable_sort(out.outbound.begin(), out.outbound.end(),
                   [](const Stream& a, const Stream& b) { return a.window < b.window; });
  return out;
}

std::vector<RecordOwner> record_owners(const plan::DispatchPlan& plan, const StepCounts& counts,
                                       const Stream& stream) {
  const Topology& topology = plan.topology();
  const NodeId node = stream.pair.source;
  const auto lanes = static_cast<std::int64_t>(topology.drivers(node, stream.rail).size());
  std::vector<RecordOwner> owners;
  owners.reserve(static_cast<std::size_t>(stream.records));
  // A segment's owners are walked once: `local` and its first index only ever grow.
  const plan::SliceAssignment slice = plan.slice(stream.pair);
  for (const plan::Segment& segment : slice.by_rail) {
    if (segment.rail != stream.rail) continue;
    int local = 0;
    std::int64_t first = 0;
    const std::int64_t skip = ((stream.lane - segment.slot) % lanes + lanes) % lanes;
    for (std::int64_t i = skip; i < segment.count; i += lanes) {
      const std::int64_t index = segment.first + i;
      for (;; ++local) {
        const RankId rank = topology.rank_at(node, local);
        if (topology.home_rail(rank) != segment.home) continue;
        const std::int64_t own = counts.records_of(rank, stream.pair.destination);
        if (index < first + own) break;
        first += own;
      }
      owners.push_back({local, index - first});
    }
  }
  RAILWAVE_CHECK(static_cast<std::int64_t>(owners.size()) == stream.records, "%zu owners",
                 owners.size());
  return owners;
}

std::vector<RecordPlace> record_places(const plan::DispatchPlan& plan, const StepCounts& counts,
                                       RankId owner, NodeId destination) {
  const Topology& topology = plan.topology();
  const NodeId node = topology.node_of(owner);
  const std::int64_t first = first_index(topology, counts, owner, destination);
  const std::int64_t end = first + counts.records_of(owner, destination);
  std::vector<RecordPlace> places;
  if (first == end) return places;
  places.reserve(static_cast<std::size_t>(end - first));
  const plan::SliceAssignment slice = plan.slice({node, destination});
  for (const plan::Segment& segment : slice.by_home) {
    if (segment.home != topology.home_rail(owner)) continue;
    const auto lanes = static_cast<std::int64_t>(topology.drivers(node, segment.rail).size());
    const std::int64_t from = std::max(first, segment.first);
    const std::int64_t to = std::min(end, segment.first + segment.count);
    for (std::int64_t index = from; index < to; ++index) {
      const std::int64_t slot = segment.slot + (index - segment.first);
      places.push_back({segment.rail, static_cast<int>(slot % lanes), slot / lanes});
    }
  }
  RAILWAVE_CHECK(static_cast<std::int64_t>(places.size()) == end - first, "%zu places",
                 places.size());
  return places;
}

}  // namespace railwave::exec
