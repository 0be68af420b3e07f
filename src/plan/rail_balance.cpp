#include "plan/rail_balance.hpp"

#include <algorithm>

#include "base/checked.hpp"
#include "segments.hpp"

namespace railwave::plan {
namespace {

/// Position of eligible rail j counted from the start: (j - start) mod m.
std::int64_t turn(std::size_t j, int start, std::size_t m) {
  return static_cast<std::int64_t>((j + m - static_cast<std::size_t>(start)) % m);
}

/// records mod m; most divisions fit into 32 bits, which is several times faster.
std::int64_t remainder(std::int64_t records, std::int64_t m) {
  if (static_cast<std::uint64_t>(records) >> 32 == 0) {
    return static_cast<std::uint32_t>(records) % static_cast<std::uint32_t>(m);
  }
  return records % m;
}

void check_start(int start, std::size_t m) {
  RAILWAVE_CHECK(start >= 0 && static_cast<std::size_t>(start) < m, "start %d of %zu rails", start,
                 m);
}

/// Deficit slots in the order (target rail, slot), handed out front to back.
class Deficit {
 public:
  Deficit(const RailCounts& counts, NodePair slice, std::span<const std::int64_t> quota)
      : counts_(counts), slice_(slice), quota_(quota), slot_(own(rail_)) {}

  /// The next free slots on one rail, at most `most` of them. REQUIRES: one is left.
  Segment take(RailId home, std::int64_t first, std::int64_t most) {
    while (slot_ >= quota_[rail_.index()]) {
      ++rail_.value;
      RAILWAVE_CHECK(rail_.index() < quota_.size(), "surplus left without a slot");
      slot_ = own(rail_);
    }
    const std::int64_t count = std::min(most, quota_[rail_.index()] - slot_);
    const Segment segment{home, first, rail_, slot_, count};
    slot_ += count;
    return segment;
  }

 private:
  [[nodiscard]] std::int64_t own(RailId rail) const {
    return counts_.at(slice_.source, rail, slice_.destination);
  }
  const RailCounts& counts_;
  NodePair slice_;
  std::span<const std::int64_t> quota_;
  RailId rail_{0};
  std::int64_t slot_;
};

}  // namespace

std::pmr::vector<int> remainder_starts(const Topology& topology, const RailCounts& counts,
                                       NodeId source) {
  return remainder_starts(topology, counts.slices(source), source);
}

std::pmr::vector<int> remainder_starts(const Topology& topology,
                                       std::span<const std::int64_t> slices, NodeId source,
                                       Memory* memory) {
  std::pmr::vector<int> starts(static_cast<std::size_t>(topology.nodes()), -1, memory);
  std::int64_t given = source.value;
  std::int64_t start = 0;
  std::int64_t before = 0;  // eligible rails of the slice before
  for (NodeId d(0); d.value < topology.nodes(); ++d.value) {
    if (d == source) continue;
    const auto m = static_cast<std::int64_t>(topology.eligible(source, d).size());
    if (m != before) start = given % m;
    starts[d.index()] = static_cast<int>(start);
    const std::int64_t left_over = remainder(slices[d.index()], m);
    given += left_over;
    start += left_over;
    if (start >= m) start -= m;
    before = m;
  }
  return starts;
}

std::pmr::vector<std::int64_t> slice_quotas(const Topology& topology, const RailCounts& counts,
                                            NodePair slice, int start, Memory* memory) {
  if (topology.has_uneven_rails(slice.source)) {
    const auto all = weighted_quotas(topology, counts, slice.source, memory);
    const auto rails = static_cast<std::size_t>(topology.rails());
    const auto row = std::span(all).subspan(slice.destination.index() * rails, rails);
    return {row.begin(), row.end(), memory};
  }
  std::pmr::vector<std::int64_t> quota(static_cast<std::size_t>(topology.rails()), 0, memory);
  const auto eligible = topology.eligible(slice.source, slice.destination);
  check_start(start, eligible.size());
  const auto m = static_cast<std::int64_t>(eligible.size());
  const std::int64_t records = counts.slice(slice.source, slice.destination);
  for (std::size_t j = 0; j < eligible.size(); ++j) {
    const bool one_more = turn(j, start, eligible.size()) < records % m;
    quota[eligible[j].index()] = records / m + (one_more ? 1 : 0);
  }
  return quota;
}

SliceAssignment balance_slice(const Topology& topology, const RailCounts& counts, NodePair slice,
                              int start) {
  return balance_slice(counts, slice, slice_quotas(topology, counts, slice, start));
}

SliceAssignment balance_slice(const RailCounts& counts, NodePair slice,
                              std::pmr::vector<std::int64_t> quota) {
  Deficit deficit(counts, slice, quota);
  std::pmr::vector<Segment> segments(quota.get_allocator());
  for (RailId home(0); home.value < counts.rails(); ++home.value) {
    const std::int64_t own = counts.at(slice.source, home, slice.destination);
    std::int64_t first = std::min(own, quota[home.index()]);
    append(segments, Segment{home, 0, home, 0, first});
    while (first < own) {
      const Segment moved = deficit.take(home, first, own - first);
      append(segments, moved);
      first += moved.count;
    }
  }
  return assembled(std::move(segments), std::move(quota));
}

std::pmr::vector<std::int64_t> home_rail_loads(const Topology& topology, const RailCounts& counts,
                                               NodePair slice, int start, Memory* memory) {
  std::pmr::vector<std::int64_t> load(static_cast<std::size_t>(topology.rails()), 0, memory);
  const auto eligible = topology.eligible(slice.source, slice.destination);
  check_start(start, eligible.size());
  std::int64_t stranded = counts.slice(slice.source, slice.destination);
  for (const RailId rail : eligible) {
    load[rail.index()] = counts.at(slice.source, rail, slice.destination);
    stranded -= load[rail.index()];
  }
  const auto m = static_cast<std::int64_t>(eligible.size());
  for (std::size_t j = 0; j < eligible.size(); ++j) {
    const bool one_more = turn(j, start, eligible.size()) < stranded % m;
    load[eligible[j].index()] += stranded / m + (one_more ? 1 : 0);
  }
  return load;
}

SliceAssignment keep_home_rails(const Topology& topology, const RailCounts& counts, NodePair slice,
                                int start, Memory* memory) {
  const auto eligible = topology.eligible(slice.source, slice.destination);
  check_start(start, eligible.size());
  std::pmr::vector<std::int64_t> load(static_cast<std::size_t>(topology.rails()), 0, memory);
  for (const RailId rail : eligible) {
    load[rail.index()] = counts.at(slice.source, rail, slice.destination);
  }
  std::pmr::vector<Segment> segments(memory);
  auto next = static_cast<std::size_t>(start);
  for (RailId home(0); home.value < topology.rails(); ++home.value) {
    const std::int64_t own = counts.at(slice.source, home, slice.destination);
    if (std::binary_search(eligible.begin(), eligible.end(), home)) {
      append(segments, Segment{home, 0, home, 0, own});
      continue;
    }
    for (std::int64_t record = 0; record < own; ++record) {
      const RailId rail = eligible[next];
      append(segments, Segment{home, record, rail, load[rail.index()]++, 1});
      next = (next + 1) % eligible.size();
    }
  }
  return assembled(std::move(segments), std::move(load));
}

}  // namespace railwave::plan
