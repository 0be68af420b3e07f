// Rails of different speeds, and any of them down, on any cluster.
#include <algorithm>
#include <numeric>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plan/capacity.hpp"
#include "plan/dispatch_plan.hpp"
#include "plan/lower_bound.hpp"
#include "plan/rail_balance.hpp"
#include "plan/random_cluster.hpp"

namespace railwave::plan {
namespace {

using reference::Cluster;
using reference::Placed;

constexpr reference::Shape kUneven{4, 5, 20, true, true};

template <class F>
void for_each_slice(const Cluster& cluster, F f) {
  for (int s = 0; s < cluster.nodes(); ++s) {
    for (int d = 0; d < cluster.nodes(); ++d) {
      if (s != d) f(NodePair{NodeId(s), NodeId(d)});
    }
  }
}

template <class F>
void for_each_path(F f) {
  for (const auto& paths : {kAllPaths, kBaselinePaths}) {
    for (const Path path : paths) f(path);
  }
}

RC_GTEST_PROP(WeightedProperty, EveryRecordGoesWhereTheDefinitionSays, ()) {
  const Cluster cluster = *reference::any_cluster(kUneven);
  const auto plan =
      DispatchPlan::create(topology_of(cluster), counts_of(cluster), {Path::Joint, {}});
  RC_ASSERT(plan.has_value());
  for_each_slice(cluster, [&](NodePair pair) {
    std::vector<Placed> placed;
    for (const Segment& segment : plan->slice(pair).by_home) {
      for (std::int64_t i = 0; i < segment.count; ++i) {
        placed.push_back(
            {segment.home.value, segment.first + i, segment.rail.value, segment.slot + i});
      }
    }
    RC_ASSERT(placed == reference::balanced(cluster, pair.source.value, pair.destination.value));
  });
}

RC_GTEST_PROP(WeightedProperty, QuotasAreIdealSharesRounded, ()) {
  const Cluster cluster = *reference::any_cluster({5, 6, 1000, true, true});
  const Topology topology = topology_of(cluster);
  for (int s = 0; s < cluster.nodes(); ++s) {
    const auto quotas = weighted_quotas(topology, counts_of(cluster), NodeId(s));
    for (int d = 0; d < cluster.nodes(); ++d) {
      if (s == d) continue;
      const std::int64_t records = reference::records(cluster, s, d);
      std::int64_t given = 0;
      __int128 sum = 0;
      for (const int r : reference::eligible(cluster, s, d)) {
        sum += reference::weight(cluster, s, d, r);
      }
      for (int r = 0; r < cluster.rails(); ++r) {
        const std::int64_t quota = quotas[static_cast<std::size_t>(d * cluster.rails() + r)];
        given += quota;
        const auto rails = reference::eligible(cluster, s, d);
        const bool eligible = std::count(rails.begin(), rails.end(), r) > 0;
        const __int128 off =
            static_cast<__int128>(quota) * sum -
            static_cast<__int128>(records) * (eligible ? reference::weight(cluster, s, d, r) : 0);
        RC_ASSERT((eligible ? -sum < off && off < sum : off == 0));
      }
      RC_ASSERT(given == records);
    }
  }
}

/// Equal weights, whatever they are, plan as none do, with any rails missing.
RC_GTEST_PROP(WeightedProperty, EqualWeightsPlanAsNone, ()) {
  Cluster cluster = *reference::any_cluster();
  const Topology none = topology_of(cluster);
  const std::int64_t weight = *rc::gen::element<std::int64_t>(1, 3, 6'250'000);
  cluster.options.weights.assign(
      static_cast<std::size_t>(cluster.nodes()),
      std::vector<std::int64_t>(static_cast<std::size_t>(cluster.rails()), weight));
  const Topology equal = topology_of(cluster);
  RC_ASSERT(equal.fingerprint() == none.fingerprint());
  const RailCounts counts = counts_of(cluster);
  RC_ASSERT(bound_records(equal, counts) == bound_records(none, counts));
  for_each_path([&](Path path) {
    const auto a = DispatchPlan::create(none, counts, {path, {}});
    const auto b = DispatchPlan::create(equal, counts, {path, {}});
    RC_ASSERT(a->windows() == b->windows());
    for_each_slice(cluster, [&](NodePair pair) {
      RC_ASSERT(a->slice(pair).by_rail == b->slice(pair).by_rail);
    });
    RC_ASSERT(barrier_path_bound(*b) == static_cast<double>(barrier_path_bound_records(*a)));
    RC_ASSERT(free_path_bound(*b) == static_cast<double>(free_path_bound_records(*a)));
  });
}

/// The weighted rule itself is the even one where weights and eligible sets are equal.
RC_GTEST_PROP(WeightedProperty, TheRuleIsTheEvenOneForEqualWeights, ()) {
  const Cluster cluster = *reference::any_cluster({6, 8, 100, false});
  const Topology topology = topology_of(cluster);
  const RailCounts counts = counts_of(cluster);
  for (NodeId s(0); s.value < cluster.nodes(); ++s.value) {
    const auto quotas = weighted_quotas(topology, counts, s);
    const auto starts = remainder_starts(topology, counts, s);
    for (NodeId d(0); d.value < cluster.nodes(); ++d.value) {
      if (s == d) continue;
      const auto even = slice_quotas(topology, counts, {s, d}, starts[d.index()]);
      RC_ASSERT(std::equal(even.begin(), even.end(), quotas.begin() + d.value * cluster.rails()));
    }
  }
}

RC_GTEST_PROP(WeightedProperty, NoPathExceedsTheCapacity, ()) {
  const Topology topology = topology_of(*reference::any_cluster(kUneven));
  const auto most = *rc::gen::inRange<std::int64_t>(0, 50);
  std::vector<std::int64_t> records(static_cast<std::size_t>(topology.ranks() * topology.nodes()));
  for (auto& cell : records) {
    cell = *rc::gen::oneOf(rc::gen::just(most), rc::gen::inRange<std::int64_t>(0, most + 1));
  }
  const RailCounts counts = RailCounts::from_ranks(topology, records);
  for_each_path([&](Path path) {
    const auto plan = DispatchPlan::create(topology, counts, {path, {}});
    for (NodeId s(0); s.value < topology.nodes(); ++s.value) {
      for (NodeId d(0); d.value < topology.nodes(); ++d.value) {
        if (s == d) continue;
        const auto loads = plan->rail_loads({s, d});
        for (RailId r(0); r.value < topology.rails(); ++r.value) {
          RC_ASSERT(loads[r.index()] <= worst_case_records(topology, {s, d}, r, most));
        }
      }
    }
  });
}

/// The node's rails that a slice may use: egress at the source, ingress at the destination.
std::set<int> rails_at(const Cluster& cluster, int node, int s, int d) {
  std::set<int> rails;
  for (const int r : reference::eligible(cluster, s, d)) {
    rails.insert(node == s ? r : reference::chi(cluster, s, d, r));
  }
  return rails;
}

/// The best bound over all nodes, directions and subsets of rails, and over slices.
long double brute_force_bound(const Cluster& cluster) {
  const auto at = [](int i) { return static_cast<std::size_t>(i); };
  long double worst = 0;
  for (int mask = 1; mask < 1 << cluster.rails(); ++mask) {
    for (int node = 0; node < cluster.nodes(); ++node) {
      std::set<int> subset;
      std::int64_t weight = 0;
      for (int r = 0; r < cluster.rails(); ++r) {
        if ((mask >> r & 1) == 0) continue;
        subset.insert(r);
        weight += cluster.options.weights[at(node)][at(r)];
      }
      std::int64_t out = 0;
      std::int64_t in = 0;
      for (int other = 0; other < cluster.nodes(); ++other) {
        if (other == node) continue;
        const auto leaving = rails_at(cluster, node, node, other);
        const auto coming = rails_at(cluster, node, other, node);
        if (std::includes(subset.begin(), subset.end(), leaving.begin(), leaving.end())) {
          out += reference::records(cluster, node, other);
        }
        if (std::includes(subset.begin(), subset.end(), coming.begin(), coming.end())) {
          in += reference::records(cluster, other, node);
        }
      }
      worst = std::max(worst, static_cast<long double>(std::max(out, in)) / weight);
    }
  }
  for_each_slice(cluster, [&](NodePair pair) {
    const int s = pair.source.value;
    const int d = pair.destination.value;
    std::int64_t weight = 0;
    for (const int r : reference::eligible(cluster, s, d)) {
      weight += reference::weight(cluster, s, d, r);
    }
    worst = std::max(worst, static_cast<long double>(reference::records(cluster, s, d)) / weight);
  });
  return worst;
}

bool close(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(1.0, std::abs(b)); }

RC_GTEST_PROP(WeightedProperty, BoundIsTheWorstSubsetOrSlice, ()) {
  const Cluster cluster = *reference::any_cluster(kUneven);
  const Topology topology = topology_of(cluster);
  const double found = bound_records(topology, counts_of(cluster)).value();
  const auto expected = static_cast<double>(brute_force_bound(cluster) *
                                            static_cast<long double>(topology.weight_unit()));
  RC_ASSERT(close(found, expected));
}

RC_GTEST_PROP(WeightedProperty, NoPathIsBelowTheBound, ()) {
  const Cluster cluster = *reference::any_cluster(kUneven);
  const Topology topology = topology_of(cluster);
  const RailCounts counts = counts_of(cluster);
  const double bound = bound_records(topology, counts).value();
  for_each_path([&](Path path) {
    const auto plan = DispatchPlan::create(topology, counts, {path, {}});
    const double free = free_path_bound(*plan);
    RC_ASSERT(bound <= free * (1 + 1e-9));
    RC_ASSERT(free <= barrier_path_bound(*plan) * (1 + 1e-9));
  });
}

/// With barriers a window lasts as long as its busiest end, or its slowest transfer.
RC_GTEST_PROP(WeightedProperty, BarrierIsTheSumOfTheLongestTimes, ()) {
  const Cluster cluster = *reference::any_cluster(kUneven);
  const Topology topology = topology_of(cluster);
  const auto at = [](int i) { return static_cast<std::size_t>(i); };
  for_each_path([&](Path path) {
    const auto plan = DispatchPlan::create(topology, counts_of(cluster), {path, {}});
    double expected = 0;
    for (std::size_t w = 0; w < plan->windows().size(); ++w) {
      std::vector<double> busy(at(2 * cluster.nodes() * cluster.rails()), 0);
      double longest = 0;
      for_each_slice(cluster, [&](NodePair pair) {
        const int s = pair.source.value;
        const int d = pair.destination.value;
        const auto loads = plan->rail_loads(pair, w);
        for (int r = 0; r < cluster.rails(); ++r) {
          const int far = reference::chi(cluster, s, d, r);
          const auto load = static_cast<double>(loads[at(r)]);
          busy[at(2 * (s * cluster.rails() + r))] +=
              load / static_cast<double>(cluster.options.weights[at(s)][at(r)]);
          busy[at(2 * (d * cluster.rails() + far) + 1)] +=
              load / static_cast<double>(cluster.options.weights[at(d)][at(far)]);
          longest =
              std::max(longest, load / static_cast<double>(reference::weight(cluster, s, d, r)));
        }
      });
      expected += std::max(longest, *std::max_element(busy.begin(), busy.end()));
    }
    RC_ASSERT(
        close(barrier_path_bound(*plan), expected * static_cast<double>(topology.weight_unit())));
  });
}

}  // namespace
}  // namespace railwave::plan
