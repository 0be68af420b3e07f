// RailBalance against its definition, record by record, on any cluster.
#include <algorithm>
#include <memory_resource>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plan/rail_balance.hpp"
#include "plan/random_cluster.hpp"

namespace railwave::plan {
namespace {

using reference::Cluster;
using reference::Placed;

/// Calls f(s, d) for every remote ordered pair.
template <class F>
void for_each_slice(const Cluster& cluster, F f) {
  for (int s = 0; s < cluster.nodes(); ++s) {
    for (int d = 0; d < cluster.nodes(); ++d) {
      if (s != d) f(s, d);
    }
  }
}

std::vector<Placed> expanded(const std::pmr::vector<Segment>& segments) {
  std::vector<Placed> placed;
  for (const Segment& segment : segments) {
    RC_ASSERT(segment.count > 0);
    for (std::int64_t i = 0; i < segment.count; ++i) {
      placed.push_back(
          {segment.home.value, segment.first + i, segment.rail.value, segment.slot + i});
    }
  }
  return placed;
}

std::vector<Placed> by_slot(std::vector<Placed> placed) {
  std::sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) {
    return std::pair(a.rail, a.slot) < std::pair(b.rail, b.slot);
  });
  return placed;
}

void check_against(const std::vector<Placed>& expected, const SliceAssignment& slice) {
  RC_ASSERT(expanded(slice.by_home) == expected);
  RC_ASSERT(expanded(slice.by_rail) == by_slot(expected));
  for (std::size_t r = 0; r < slice.load.size(); ++r) {
    RC_ASSERT(slice.load[r] == reference::load(expected, static_cast<int>(r)));
  }
}

RC_GTEST_PROP(RailBalanceProperty, EveryRecordGoesWhereTheDefinitionSays, ()) {
  const Cluster cluster = *reference::any_cluster({4, 6, 12});
  const Topology topology = topology_of(cluster);
  const RailCounts counts = counts_of(cluster);
  for_each_slice(cluster, [&](int s, int d) {
    const NodePair pair{NodeId(s), NodeId(d)};
    const int start = remainder_starts(topology, counts, NodeId(s))[static_cast<std::size_t>(d)];
    RC_ASSERT(start == reference::start(cluster, s, d));
    check_against(reference::balanced(cluster, s, d), balance_slice(topology, counts, pair, start));
    check_against(reference::at_home(cluster, s, d),
                  keep_home_rails(topology, counts, pair, start));
    RC_ASSERT(home_rail_loads(topology, counts, pair, start) ==
              keep_home_rails(topology, counts, pair, start).load);
  });
}

RC_GTEST_PROP(RailBalanceProperty, QuotasAreEvenAndEligible, ()) {
  const Cluster cluster = *reference::any_cluster({5, 8, 1000});
  const Topology topology = topology_of(cluster);
  const RailCounts counts = counts_of(cluster);
  for_each_slice(cluster, [&](int s, int d) {
    const int start = reference::start(cluster, s, d);
    const auto quota = slice_quotas(topology, counts, {NodeId(s), NodeId(d)}, start);
    const auto rails = reference::eligible(cluster, s, d);
    std::vector<std::int64_t> given;
    for (int r = 0; r < cluster.rails(); ++r) {
      const std::int64_t here = quota[static_cast<std::size_t>(r)];
      if (std::count(rails.begin(), rails.end(), r) > 0) {
        given.push_back(here);
      } else {
        RC_ASSERT(here == 0);
      }
    }
    const auto [least, most] = std::minmax_element(given.begin(), given.end());
    RC_ASSERT(*most - *least <= 1);
    RC_ASSERT(std::accumulate(given.begin(), given.end(), std::int64_t{0}) ==
              reference::records(cluster, s, d));
  });
}

RC_GTEST_PROP(RailBalanceProperty, SourceTotalsDifferByAtMostOneWithEqualSets, ()) {
  const Cluster cluster = *reference::any_cluster({6, 8, 100, false});
  const Topology topology = topology_of(cluster);
  const RailCounts counts = counts_of(cluster);
  for (NodeId s(0); s.value < cluster.nodes(); ++s.value) {
    const auto starts = remainder_starts(topology, counts, s);
    std::vector<std::int64_t> total(static_cast<std::size_t>(cluster.rails()), 0);
    for (NodeId d(0); d.value < cluster.nodes(); ++d.value) {
      if (s == d) continue;
      const auto quota = slice_quotas(topology, counts, {s, d}, starts[d.index()]);
      for (std::size_t r = 0; r < total.size(); ++r) total[r] += quota[r];
    }
    const auto [least, most] = std::minmax_element(total.begin(), total.end());
    RC_ASSERT(*most - *least <= 1);
  }
}

RC_GTEST_PROP(RailBalanceProperty, OwnersKeepTheirFirstRecords, ()) {
  const Cluster cluster = *reference::any_cluster();
  const Topology topology = topology_of(cluster);
  const RailCounts counts = counts_of(cluster);
  for_each_slice(cluster, [&](int s, int d) {
    const int start = reference::start(cluster, s, d);
    const NodePair pair{NodeId(s), NodeId(d)};
    const auto quota = slice_quotas(topology, counts, pair, start);
    for (const Placed& record : expanded(balance_slice(topology, counts, pair, start).by_home)) {
      const bool kept = record.index < quota[static_cast<std::size_t>(record.home)];
      RC_ASSERT((record.rail == record.home) == kept);
      if (kept) RC_ASSERT(record.slot == record.index);
    }
  });
}

RC_GTEST_PROP(RailBalanceProperty, FewSegments, ()) {
  const Cluster cluster = *reference::any_cluster({4, 8, 100000});
  const Topology topology = topology_of(cluster);
  const RailCounts counts = counts_of(cluster);
  for_each_slice(cluster, [&](int s, int d) {
    const auto slice =
        balance_slice(topology, counts, {NodeId(s), NodeId(d)}, reference::start(cluster, s, d));
    RC_ASSERT(slice.by_home.size() <= 2 * static_cast<std::size_t>(cluster.rails()));
  });
}

}  // namespace
}  // namespace railwave::plan
