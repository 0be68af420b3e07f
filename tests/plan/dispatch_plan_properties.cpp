// Every path's plan on any cluster: each pair in one window, each record on one rail.
#include <algorithm>
#include <functional>
#include <map>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plan/dispatch_plan.hpp"
#include "plan/only_window.hpp"
#include "plan/random_cluster.hpp"

namespace railwave::plan {
namespace {

using reference::Cluster;

/// Any order of the pairs, cut into any windows.
Windows any_windows(int nodes) {
  std::vector<NodePair> pairs;
  for (int s = 0; s < nodes; ++s) {
    for (int d = 0; d < nodes; ++d) {
      if (s != d) pairs.push_back({NodeId(s), NodeId(d)});
    }
  }
  Windows windows(static_cast<std::size_t>(*rc::gen::inRange(1, 5)));
  while (!pairs.empty()) {
    const auto next = pairs.begin() + *rc::gen::inRange<std::ptrdiff_t>(
                                          0, static_cast<std::ptrdiff_t>(pairs.size()));
    windows[*rc::gen::inRange<std::size_t>(0, windows.size())].push_back(*next);
    pairs.erase(next);
  }
  return windows;
}

RC_GTEST_PROP(DispatchPlanProperty, EveryPairWithRecordsInExactlyOneWindow, ()) {
  const Cluster cluster = *reference::any_cluster();
  const Windows submitted = any_windows(cluster.nodes());
  for (const Path path : kAllPaths) {
    const auto plan =
        DispatchPlan::create(topology_of(cluster), counts_of(cluster), {path, submitted});
    RC_ASSERT(plan.has_value());
    std::map<NodePair, std::size_t> window_of;
    for (std::size_t w = 0; w < plan->windows().size(); ++w) {
      RC_ASSERT(!plan->windows()[w].empty());
      for (const NodePair pair : plan->windows()[w]) {
        RC_ASSERT(window_of.emplace(pair, w).second);
      }
    }
    for (int s = 0; s < cluster.nodes(); ++s) {
      for (int d = 0; d < cluster.nodes(); ++d) {
        if (s == d) continue;
        const NodePair pair{NodeId(s), NodeId(d)};
        const bool sends = reference::records(cluster, s, d) > 0;
        RC_ASSERT((window_of.count(pair) == 1) == sends);
        RC_ASSERT(only_window(*plan, pair).has_value() == sends);
        if (sends) RC_ASSERT(*only_window(*plan, pair) == window_of[pair]);
      }
    }
  }
}

RC_GTEST_PROP(DispatchPlanProperty, WindowsOfAPairCarryItsLoads, ()) {
  const Cluster cluster = *reference::any_cluster();
  const Windows submitted = any_windows(cluster.nodes());
  for (const auto& paths : {kAllPaths, kBaselinePaths}) {
    for (const Path path : paths) {
      const auto plan =
          DispatchPlan::create(topology_of(cluster), counts_of(cluster), {path, submitted});
      RC_ASSERT(plan.has_value());
      std::map<NodePair, std::vector<std::size_t>> windows_of;
      for (std::size_t w = 0; w < plan->windows().size(); ++w) {
        for (const NodePair pair : plan->windows()[w]) windows_of[pair].push_back(w);
      }
      for (int s = 0; s < cluster.nodes(); ++s) {
        for (int d = 0; d < cluster.nodes(); ++d) {
          if (s == d) continue;
          const NodePair pair{NodeId(s), NodeId(d)};
          const auto windows = plan->windows_of(pair);
          RC_ASSERT(std::vector(windows.begin(), windows.end()) == windows_of[pair]);
          std::pmr::vector<std::int64_t> sum(static_cast<std::size_t>(cluster.rails()), 0);
          for (std::size_t w = 0; w < plan->windows().size(); ++w) {
            const auto loads = plan->rail_loads(pair, w);
            std::transform(sum.begin(), sum.end(), loads.begin(), sum.begin(), std::plus());
            const bool sends =
                std::any_of(loads.begin(), loads.end(), [](auto l) { return l > 0; });
            RC_ASSERT(sends == std::binary_search(windows.begin(), windows.end(), w));
          }
          RC_ASSERT(sum == plan->rail_loads(pair));
          RC_ASSERT(sum == plan->slice(pair).load);
        }
      }
    }
  }
}

RC_GTEST_PROP(DispatchPlanProperty, SubmittedOrderIsKept, ()) {
  const Cluster cluster = *reference::any_cluster();
  const Windows submitted = any_windows(cluster.nodes());
  const auto plan =
      DispatchPlan::create(topology_of(cluster), counts_of(cluster), {Path::Native, submitted});
  RC_ASSERT(plan.has_value());
  Window in_order;
  for (const Window& window : submitted) {
    for (const NodePair pair : window) {
      if (reference::records(cluster, pair.source.value, pair.destination.value) > 0) {
        in_order.push_back(pair);
      }
    }
  }
  Window run;
  for (const Window& window : plan->windows()) run.insert(run.end(), window.begin(), window.end());
  RC_ASSERT(run == in_order);
}

RC_GTEST_PROP(DispatchPlanProperty, SlicesFollowThePath, ()) {
  const Cluster cluster = *reference::any_cluster({4, 6, 12});
  for (const Path path : kAllPaths) {
    const auto plan = DispatchPlan::create(topology_of(cluster), counts_of(cluster), {path, {}});
    RC_ASSERT(plan.has_value());
    for (int s = 0; s < cluster.nodes(); ++s) {
      for (int d = 0; d < cluster.nodes(); ++d) {
        if (s == d) continue;
        const auto expected =
            balances(path) ? reference::balanced(cluster, s, d) : reference::at_home(cluster, s, d);
        const NodePair pair{NodeId(s), NodeId(d)};
        const auto loads = plan->rail_loads(pair);
        RC_ASSERT(plan->slice(pair).load == loads);
        for (int r = 0; r < cluster.rails(); ++r) {
          RC_ASSERT(loads[static_cast<std::size_t>(r)] == reference::load(expected, r));
        }
      }
    }
  }
}

}  // namespace
}  // namespace railwave::plan
