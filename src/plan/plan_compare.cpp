#include "plan/plan_compare.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace railwave::plan {
namespace {

using Slices = std::map<NodePair, const RecordedSlice*>;

Slices by_pair(const RecordedPlan& plan) {
  Slices slices;
  for (const RecordedSlice& slice : plan.slices) slices.emplace(slice.pair, &slice);
  return slices;
}

/// Records that both have, on different rails. Segments ascend by (home, first); where they
/// overlap, which is a fault, equal ones still do not differ.
std::int64_t on_other_rails(const std::vector<Segment>& a, const std::vector<Segment>& b) {
  if (a == b) return 0;
  std::int64_t records = 0;
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
    const std::int64_t i_end = i->first + i->count;
    const std::int64_t j_end = j->first + j->count;
    if (i->home == j->home && i->rail != j->rail) {
      records += std::max<std::int64_t>(0, std::min(i_end, j_end) - std::max(i->first, j->first));
    }
    if (std::pair(i->home, i_end) <= std::pair(j->home, j_end)) {
      ++i;
    } else {
      ++j;
    }
  }
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

bool portions_differ(const RecordedSlice& a, const RecordedSlice& b) {
  const auto same = [](const RecordedSend& x, const RecordedSend& y) {
    return x.window == y.window;
  };
  return !std::equal(a.sends.begin(), a.sends.end(), b.sends.begin(), b.sends.end(), same);
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

SliceDifference difference(const RecordedSlice& a, const RecordedSlice& b, int rails) {
  SliceDifference out{a.pair};
  out.elsewhere = on_other_rails(a.segments, b.segments);
  out.other_loads = loads_of(a, rails) != loads_of(b, rails);
  out.other_windows = portions_differ(a, b);
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
  out.other_windows = sorted_windows(a) != sorted_windows(b);
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
                   a.topology.rails());
    if (one == SliceDifference{pair}) continue;
    out.elsewhere += one.elsewhere;
    out.slices.push_back(one);
  }
  return out;
}

}  // namespace railwave::plan
