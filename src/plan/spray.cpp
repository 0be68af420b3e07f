#include "plan/spray.hpp"

#include <algorithm>
#include <tuple>

#include "base/checked.hpp"
#include "segments.hpp"

namespace railwave::plan {
namespace {

struct Chunk {
  NodeId destination;
  RailId home;
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// Every flow of the source, cut, in the order in which it is assigned.
std::vector<Chunk> chunks_of(const Topology& topology, const RailCounts& counts, NodeId source) {
  std::vector<Chunk> chunks;
  for (NodeId d(0); d.value < topology.nodes(); ++d.value) {
    if (d == source) continue;
    const auto parts = static_cast<std::int64_t>(topology.eligible(source, d).size());
    for (RailId home(0); home.value < topology.rails(); ++home.value) {
      const std::int64_t flow = counts.at(source, home, d);
      std::int64_t first = 0;
      for (std::int64_t i = 0; i < parts && first < flow; ++i) {
        const std::int64_t count = flow / parts + (i < flow % parts ? 1 : 0);
        chunks.push_back({d, home, first, count});
        first += count;
      }
    }
  }
  std::stable_sort(chunks.begin(), chunks.end(),
                   [](const Chunk& a, const Chunk& b) { return a.count > b.count; });
  return chunks;
}

class Sprayer {
 public:
  Sprayer(const Topology& topology, const RailCounts& counts, NodeId source)
      : topology_(topology),
        source_(source),
        rails_(static_cast<std::size_t>(topology.rails())),
        total_(rails_, 0),
        slices_(static_cast<std::size_t>(topology.nodes())) {
    for (NodeId d(0); d.value < topology.nodes(); ++d.value) {
      if (d != source) limit(counts, d);
    }
  }

  void place(Chunk chunk) {
    Slice& slice = slices_[chunk.destination.index()];
    while (chunk.count > 0) {
      const RailId rail = first_through(chunk, slice);
      const std::int64_t count = std::min(chunk.count, slice.room[rail.index()]);
      slice.room[rail.index()] -= count;
      total_[rail.index()] += count;
      slice.segments.push_back({chunk.home, chunk.first, rail, 0, count});
      chunk.first += count;
      chunk.count -= count;
    }
  }

  [[nodiscard]] SliceAssignment finished(NodeId destination) {
    auto& parts = slices_[destination.index()].segments;
    std::sort(parts.begin(), parts.end(), [](const Segment& a, const Segment& b) {
      return std::tie(a.home, a.first) < std::tie(b.home, b.first);
    });
    std::pmr::vector<std::int64_t> load(rails_, 0);
    std::pmr::vector<Segment> by_home;
    for (Segment& part : parts) {
      part.slot = load[part.rail.index()];
      load[part.rail.index()] += part.count;
      append(by_home, part);
    }
    return assembled(std::move(by_home), std::move(load));
  }

 private:
  struct Slice {
    std::vector<std::int64_t> room{};  // [R] records that each rail may still take
    std::vector<Segment> segments{};
  };

  void limit(const RailCounts& counts, NodeId destination) {
    Slice& slice = slices_[destination.index()];
    slice.room.assign(rails_, 0);
    const NodePair pair{source_, destination};
    const auto eligible = topology_.eligible(source_, destination);
    std::int64_t weights = 0;
    for (const RailId rail : eligible) weights += topology_.weight(pair, rail);
    const __int128 records = counts.slice(source_, destination);
    for (const RailId rail : eligible) {
      const __int128 share = (records * topology_.weight(pair, rail) + weights - 1) / weights;
      slice.room[rail.index()] =
          std::max(static_cast<std::int64_t>(share), counts.at(source_, rail, destination));
    }
  }

  /// The rail with room that has the chunk through first.
  [[nodiscard]] RailId first_through(const Chunk& chunk, const Slice& slice) const {
    RailId best(-1);
    for (std::size_t i = 0; i < rails_; ++i) {
      const RailId rail((chunk.home.index() + i) % rails_);
      if (slice.room[rail.index()] == 0) continue;
      if (best.value < 0 || through_before(rail, best, chunk.count)) best = rail;
    }
    RAILWAVE_CHECK(best.value >= 0, "no rail has room for %lld records",
                   static_cast<long long>(chunk.count));
    return best;
  }

  /// (total + count) / weight is less on rail a than on rail b.
  [[nodiscard]] bool through_before(RailId a, RailId b, std::int64_t count) const {
    const auto loaded = [&](RailId rail) -> __int128 { return total_[rail.index()] + count; };
    return loaded(a) * topology_.weight(source_, b) < loaded(b) * topology_.weight(source_, a);
  }

  const Topology& topology_;
  NodeId source_;
  std::size_t rails_;
  std::vector<std::int64_t> total_;  // [R] records of all slices so far
  std::vector<Slice> slices_;        // [N]
};

}  // namespace

std::vector<SliceAssignment> spray(const Topology& topology, const RailCounts& counts,
                                   NodeId source) {
  Sprayer sprayer(topology, counts, source);
  for (const Chunk& chunk : chunks_of(topology, counts, source)) sprayer.place(chunk);
  std::vector<SliceAssignment> slices(static_cast<std::size_t>(topology.nodes()));
  for (NodeId d(0); d.value < topology.nodes(); ++d.value) {
    if (d != source) slices[d.index()] = sprayer.finished(d);
  }
  return slices;
}

}  // namespace railwave::plan
