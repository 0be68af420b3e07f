#include "plan/plan_compare.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

namespace railwave::plan {
namespace {

using Slices = std::map<NodePair, const RecordedSlice*>;

Slices by_pair(const RecordedPlan& plan) {
  Slices slices;
  for (const RecordedSlice& slice : plan.slices) slices.emplace(slice.pair, &slice);
  return slices;
}

/// Records of one home rail that both slices have, and the segment of each that they are in.
struct Common {
  std::int64_t first;
  std::int64_t count;
  const Segment& a;
  const Segment& b;
};

/// Calls f(Common). Segments ascend by (home, first); where they overlap, which is a fault, equal
/// ones still are each other's.
template <class F>
void for_each_common(const std::vector<Segment>& a, const std::vector<Segment>& b, F f) {
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
    const std::int64_t i_end = i->first + i->count;
    const std::int64_t j_end = j->first + j->count;
    const std::int64_t first = std::max(i->first, j->first);
    const std::int64_t end = std::min(i_end, j_end);
    if (i->home == j->home && first < end) f(Common{first, end - first, *i, *j});
    if (std::pair(i->home, i_end) <= std::pair(j->home, j_end)) {
      ++i;
    } else {
      ++j;
    }
  }
}

std::int64_t on_other_rails(const RecordedSlice& a, const RecordedSlice& b) {
  if (a.segments == b.segments) return 0;
  std::int64_t records = 0;
  for_each_common(a.segments, b.segments, [&](const Common& common) {
    if (common.a.rail != common.b.rail) records += common.count;
  });
  return records;
}

std::vector<std::int64_t> loads_of(const RecordedSlice& slice, int rails) {
  std::vector<std::int64_t> sum(static_cast<std::size_t>(rails), 0);
  for (const RecordedSend& send : slice.sends) {
    for (std::size_t r = 0; r < sum.size(); ++r) sum[r] += send.loads[r];
  }
  return sum;
}

/// Who sends together, whatever the order in which a window lists its pairs.
Windows sorted_windows(const RecordedPlan& plan) {
  Windows windows = plan.windows;
  for (Window& window : windows) std::sort(window.begin(), window.end());
  return windows;
}

std::int64_t total(const RecordedSend& send) {
  return std::accumulate(send.loads.begin(), send.loads.end(), std::int64_t{0});
}

/// In other windows, together with other pairs, or other numbers of records in a window.
bool portions_differ(const RecordedSlice& a, const Windows& a_windows, const RecordedSlice& b,
                     const Windows& b_windows) {
  const auto same = [&](const RecordedSend& x, const RecordedSend& y) {
    return x.window == y.window && total(x) == total(y) &&
           a_windows[x.window] == b_windows[y.window];
  };
  return !std::equal(a.sends.begin(), a.sends.end(), b.sends.begin(), b.sends.end(), same);
}

/// Which of a slice's sends has the slot of the rail.
std::size_t send_of(const RecordedSlice& slice, RailId rail, std::int64_t slot) {
  std::size_t send = 0;
  while (send < slice.sends.size() && slot >= slice.sends[send].loads[rail.index()]) {
    slot -= slice.sends[send++].loads[rail.index()];
  }
  return send;
}

/// Records that keep their rail, but change the window. REQUIRES: the same sends.
bool slots_differ(const RecordedSlice& a, const RecordedSlice& b) {
  if (a.sends.size() < 2 || a.segments == b.segments) return false;
  bool differ = false;
  for_each_common(a.segments, b.segments, [&](const Common& common) {
    const RailId rail = common.a.rail;
    const std::int64_t i = common.a.slot + (common.first - common.a.first);
    const std::int64_t j = common.b.slot + (common.first - common.b.first);
    if (rail != common.b.rail || i == j) return;
    // Slots that lie apart are in the same windows only when all of them are in one.
    const auto last = std::max(i, j) + common.count - 1;
    differ = differ || send_of(a, rail, std::min(i, j)) != send_of(a, rail, last);
  });
  return differ;
}

bool same_counts(const RailCounts& a, const RailCounts& b) {
  for (NodeId s(0); s.value < a.nodes(); ++s.value) {
    for (RailId r(0); r.value < a.rails(); ++r.value) {
      for (NodeId d(0); d.value < a.nodes(); ++d.value) {
        if (s != d && a.at(s, r, d) != b.at(s, r, d)) return false;
      }
    }
  }
  return true;
}

/// The windows of both plans, each with its pairs ascending.
struct BothWindows {
  Windows a;
  Windows b;
};

SliceDifference difference(const RecordedSlice& a, const RecordedSlice& b,
                           const BothWindows& windows, int rails) {
  SliceDifference out{a.pair};
  out.elsewhere = on_other_rails(a, b);
  out.other_loads = loads_of(a, rails) != loads_of(b, rails);
  out.other_windows = portions_differ(a, windows.a, b, windows.b);
  // Other loads in all make other loads in a window; that alone is no other portion.
  if (!out.other_loads && !out.other_windows) {
    out.other_windows = a.sends != b.sends || slots_differ(a, b);
  }
  return out;
}

}  // namespace

PlanDifference compare(const RecordedPlan& a, const RecordedPlan& b) {
  PlanDifference out;
  out.other_topology = a.topology.fingerprint() != b.topology.fingerprint();
  if (a.topology.nodes() != b.topology.nodes() || a.topology.rails() != b.topology.rails()) {
    return out;
  }
  out.other_counts = !same_counts(a.counts, b.counts);
  out.other_path = a.path != b.path;
  const BothWindows windows{sorted_windows(a), sorted_windows(b)};
  out.other_windows = windows.a != windows.b;
  const Slices left = by_pair(a);
  const Slices right = by_pair(b);
  Slices all = left;
  all.insert(right.begin(), right.end());
  for (const auto& [pair, slice] : all) {
    const RecordedSlice none{pair, {}, {}};
    const auto i = left.find(pair);
    const auto j = right.find(pair);
    const SliceDifference one =
        difference(i == left.end() ? none : *i->second, j == right.end() ? none : *j->second,
                   windows, a.topology.rails());
    if (one == SliceDifference{pair}) continue;
    out.elsewhere += one.elsewhere;
    out.slices.push_back(one);
  }
  return out;
}

}  // namespace railwave::plan
