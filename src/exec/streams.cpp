#include "exec/streams.hpp"

#include <algorithm>
#include <iterator>
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

/// Slots of each rail that the pair's windows have used up, [parts + 1][R].
std::pmr::vector<std::pmr::vector<std::int64_t>> window_slots(const plan::DispatchPlan& plan,
                                                              NodePair pair, Memory* memory) {
  const auto rails = static_cast<std::size_t>(plan.topology().rails());
  std::pmr::vector<std::pmr::vector<std::int64_t>> slots(memory);
  slots.reserve(plan.windows_of(pair).size() + 1);
  slots.emplace_back(rails, 0);
  for (const std::size_t window : plan.windows_of(pair)) {
    std::pmr::vector<std::int64_t> next = plan.rail_loads(pair, window, memory);
    for (std::size_t r = 0; r < rails; ++r) next[r] += slots.back()[r];
    slots.push_back(std::move(next));
  }
  return slots;
}

Stream stream_of(const Topology& topology, const StreamKey& key, Operation direction) {
  Stream stream;
  static_cast<StreamKey&>(stream) = key;
  const auto near = topology.drivers(key.pair.source, key.rail);
  stream.sender_rail = key.rail;
  stream.receiver_rail = topology.ingress(key.pair.source, key.pair.destination, key.rail);
  const auto far = topology.drivers(key.pair.destination, stream.receiver_rail);
  const auto lane = static_cast<std::size_t>(key.lane);
  stream.sender = near[lane];
  stream.receiver = far[lane % far.size()];
  if (direction == Operation::Combine) {
    std::swap(stream.sender, stream.receiver);
    std::swap(stream.sender_rail, stream.receiver_rail);
  }
  return stream;
}

/// The streams of one plan pair, without places in the stage.
void append_pair(const plan::DispatchPlan& plan, NodePair pair, Operation direction,
                 std::pmr::vector<Stream>& out) {
  const Topology& topology = plan.topology();
  const auto slots = window_slots(plan, pair, out.get_allocator().resource());
  const auto windows = plan.windows_of(pair);
  for (std::size_t part = 0; part < windows.size(); ++part) {
    for (int r = 0; r < topology.rails(); ++r) {
      const auto rail = static_cast<std::size_t>(r);
      if (slots[part + 1][rail] == slots[part][rail]) continue;
      const int lanes = static_cast<int>(topology.drivers(pair.source, RailId(r)).size());
      for (int lane = 0; lane < lanes; ++lane) {
        const std::int64_t first = lane_records(slots[part][rail], lane, lanes);
        const std::int64_t end = lane_records(slots[part + 1][rail], lane, lanes);
        if (first == end) continue;
        Stream stream =
            stream_of(topology, {pair, RailId(r), lane, static_cast<int>(part)}, direction);
        stream.window = windows[part];
        stream.first = first;
        stream.records = end - first;
        out.push_back(stream);
      }
    }
  }
}

bool same_lane(const Stream& a, const Stream& b) {
  return std::tie(a.pair, a.rail, a.lane) == std::tie(b.pair, b.rail, b.lane);
}

/// Sorts by receiver and gives each stream its place in the receiver's stage.
void place(std::span<Stream> streams, const ChunkShape& shape) {
  std::sort(streams.begin(), streams.end(), [](const Stream& a, const Stream& b) {
    return std::tie(a.receiver, static_cast<const StreamKey&>(a)) <
           std::tie(b.receiver, static_cast<const StreamKey&>(b));
  });
  const Stream* before = nullptr;
  std::int64_t offset = 0;
  for (Stream& stream : streams) {
    const bool first = before == nullptr || stream.receiver != before->receiver;
    if (first) offset = 0;
    if (!first) stream.ordinal = before->ordinal + (same_lane(stream, *before) ? 0 : 1);
    stream.stage_offset = offset;
    stream.stride = shape.stride();
    offset += shape.stage_bytes(stream.records);
    before = &stream;
  }
}

}  // namespace

NodeStreams node_streams(const plan::DispatchPlan& plan, NodeId node, Operation direction,
                         const ChunkShape& shape, Memory* memory) {
  NodeStreams out{std::pmr::vector<Stream>(memory), std::pmr::vector<Stream>(memory)};
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
  // A window's streams stay in the order in which they were made: by key.
  std::sort(out.outbound.begin(), out.outbound.end(), [](const Stream& a, const Stream& b) {
    return std::tie(a.window, static_cast<const StreamKey&>(a)) <
           std::tie(b.window, static_cast<const StreamKey&>(b));
  });
  return out;
}

std::pmr::vector<RecordOwner> record_owners(const plan::DispatchPlan& plan,
                                            const StepCounts& counts, const Stream& stream,
                                            Memory* memory) {
  const Topology& topology = plan.topology();
  const NodeId node = stream.pair.source;
  const auto lanes = static_cast<std::int64_t>(topology.drivers(node, stream.rail).size());
  std::pmr::vector<RecordOwner> owners(memory);
  owners.reserve(static_cast<std::size_t>(stream.records));
  std::int64_t before = stream.first;  // of the lane's records to come, in the windows before
  const plan::SliceAssignment slice = plan.slice(stream.pair, memory);
  for (const plan::Segment& segment : slice.by_rail) {
    if (segment.rail != stream.rail) continue;
    const std::int64_t skip = ((stream.lane - segment.slot) % lanes + lanes) % lanes;
    const std::int64_t here = segment.count > skip ? ceil_div(segment.count - skip, lanes) : 0;
    const std::int64_t passed = std::min(before, here);
    before -= passed;
    // A segment's owners are walked once: `local` and its first index only ever grow.
    int local = 0;
    std::int64_t first = 0;
    for (std::int64_t i = skip + passed * lanes;
         i < segment.count && std::ssize(owners) < stream.records; i += lanes) {
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
  RAILWAVE_CHECK(std::ssize(owners) == stream.records, "%zu owners", owners.size());
  return owners;
}

std::pmr::vector<RecordPlace> record_places(const plan::DispatchPlan& plan,
                                            const StepCounts& counts, RankId owner,
                                            NodeId destination, Memory* memory) {
  const Topology& topology = plan.topology();
  const NodeId node = topology.node_of(owner);
  const std::int64_t first = first_index(topology, counts, owner, destination);
  const std::int64_t end = first + counts.records_of(owner, destination);
  std::pmr::vector<RecordPlace> places(memory);
  if (first == end) return places;
  places.reserve(static_cast<std::size_t>(end - first));
  const auto used = window_slots(plan, {node, destination}, memory);
  const plan::SliceAssignment slice = plan.slice({node, destination}, memory);
  for (const plan::Segment& segment : slice.by_home) {
    if (segment.home != topology.home_rail(owner)) continue;
    const auto lanes = static_cast<std::int64_t>(topology.drivers(node, segment.rail).size());
    const std::int64_t from = std::max(first, segment.first);
    const std::int64_t to = std::min(end, segment.first + segment.count);
    std::size_t part = 0;
    for (std::int64_t index = from; index < to; ++index) {
      const std::int64_t slot = segment.slot + (index - segment.first);
      while (used[part + 1][segment.rail.index()] <= slot) ++part;
      const int lane = static_cast<int>(slot % lanes);
      const std::int64_t before =
          lane_records(used[part][segment.rail.index()], lane, static_cast<int>(lanes));
      places.push_back({segment.rail, lane, static_cast<int>(part), slot / lanes - before});
    }
  }
  RAILWAVE_CHECK(static_cast<std::int64_t>(places.size()) == end - first, "%zu places",
                 places.size());
  return places;
}

}  // namespace railwave::exec
