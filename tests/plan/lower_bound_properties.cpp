// The bounds against brute force over subsets of rails and over chains.
#include <algorithm>
#include <functional>
#include <numeric>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plan/lower_bound.hpp"
#include "plan/random_cluster.hpp"

namespace railwave::plan {
namespace {

using reference::Cluster;

struct Fraction {
  std::int64_t num = 0;
  std::int64_t den = 1;
};

bool operator<(const Fraction& a, const Fraction& b) { return a.num * b.den < b.num * a.den; }

/// The node's rails that a slice may use: egress at the source, ingress at the destination.
std::set<int> rails_at(const Cluster& cluster, int node, int s, int d) {
  std::set<int> rails;
  for (const int r : reference::eligible(cluster, s, d)) {
    rails.insert(node == s ? r : reference::chi(cluster, s, d, r));
  }
  return rails;
}

/// Records that node `node` exchanges with others over no rail outside `subset`.
std::int64_t confined(const Cluster& cluster, int node, bool sends, const std::set<int>& subset) {
  std::int64_t records = 0;
  for (int other = 0; other < cluster.nodes(); ++other) {
    if (other == node) continue;
    const int s = sends ? node : other;
    const int d = sends ? other : node;
    const auto rails = rails_at(cluster, node, s, d);
    if (std::includes(subset.begin(), subset.end(), rails.begin(), rails.end())) {
      records += reference::records(cluster, s, d);
    }
  }
  return records;
}

Fraction brute_force_bound(const Cluster& cluster) {
  Fraction worst;
  for (int mask = 1; mask < 1 << cluster.rails(); ++mask) {
    std::set<int> subset;
    for (int r = 0; r < cluster.rails(); ++r) {
      if ((mask >> r & 1) != 0) subset.insert(r);
    }
    for (int node = 0; node < cluster.nodes(); ++node) {
      for (const bool sends : {false, true}) {
        worst = std::max(worst, Fraction{confined(cluster, node, sends, subset),
                                         static_cast<std::int64_t>(subset.size())});
      }
    }
  }
  return worst;
}

RC_GTEST_PROP(BoundProperty, EqualsTheWorstSubsetOfRails, ()) {
  // Small ones, and some whose nodes have many different sets.
  const bool small = *rc::gen::inRange(0, 4) != 0;
  const Cluster cluster =
      *reference::any_cluster(small ? reference::Shape{5, 5, 20} : reference::Shape{9, 8, 20});
  const Fraction expected = brute_force_bound(cluster);
  const Ratio found = bound_records(topology_of(cluster), counts_of(cluster));
  RC_ASSERT(found.num * expected.den == expected.num * found.den);
  RC_ASSERT(std::gcd(found.num, found.den) == 1);
}

RC_GTEST_PROP(BoundProperty, NoPathIsBelowTheBound, ()) {
  const Cluster cluster = *reference::any_cluster();
  const Topology topology = topology_of(cluster);
  const RailCounts counts = counts_of(cluster);
  const Ratio bound = bound_records(topology, counts);
  for (const auto& paths : {kAllPaths, kBaselinePaths}) {
    for (const Path path : paths) {
      const auto plan = DispatchPlan::create(topology, counts, {path, {}});
      RC_ASSERT(plan.has_value());
      const std::int64_t free = free_path_bound_records(*plan);
      RC_ASSERT(bound.num <= free * bound.den);
      RC_ASSERT(free <= barrier_path_bound_records(*plan));
    }
  }
}

/// Records of (s, d) on an egress rail, on the path, by the definitions.
std::int64_t load_on(const Cluster& cluster, Path path, int s, int d, int rail) {
  return reference::load(
      balances(path) ? reference::balanced(cluster, s, d) : reference::at_home(cluster, s, d),
      rail);
}

/// The largest load of a (node, rail, direction) in one set of pairs.
std::int64_t largest_load(const Cluster& cluster, Path path, const Window& window) {
  std::int64_t largest = 0;
  for (int node = 0; node < cluster.nodes(); ++node) {
    for (int rail = 0; rail < cluster.rails(); ++rail) {
      std::int64_t out = 0;
      std::int64_t in = 0;
      for (const auto& pair : window) {
        const int s = pair.source.value;
        const int d = pair.destination.value;
        for (int r = 0; r < cluster.rails(); ++r) {
          const std::int64_t here = load_on(cluster, path, s, d, r);
          if (s == node && r == rail) out += here;
          if (d == node && reference::chi(cluster, s, d, r) == rail) in += here;
        }
      }
      largest = std::max({largest, out, in});
    }
  }
  return largest;
}

RC_GTEST_PROP(PathBoundProperty, BarrierIsTheSumOfTheLargestLoads, ()) {
  const Cluster cluster = *reference::any_cluster({4, 4, 8});
  for (const Path path : kAllPaths) {
    Windows windows(1);
    if (uses_waves(path)) windows.resize(static_cast<std::size_t>(cluster.nodes()));
    for (int s = 0; s < cluster.nodes(); ++s) {
      for (int d = 0; d < cluster.nodes(); ++d) {
        if (s == d) continue;
        const int wave = (d - s + cluster.nodes()) % cluster.nodes();
        windows[uses_waves(path) ? static_cast<std::size_t>(wave) : 0].push_back(
            {NodeId(s), NodeId(d)});
      }
    }
    std::int64_t expected = 0;
    for (const Window& window : windows) expected += largest_load(cluster, path, window);
    const auto plan = DispatchPlan::create(topology_of(cluster), counts_of(cluster), {path, {}});
    RC_ASSERT(plan.has_value());
    RC_ASSERT(barrier_path_bound_records(*plan) == expected);
    if (!uses_waves(path)) RC_ASSERT(free_path_bound_records(*plan) == expected);
  }
}

/// When what s sends on `rail` in wave k is through: after its own load, once the same two ends are
/// through with their earlier waves. Recursion over chains, back to front.
class Chains {
 public:
  Chains(const Cluster& cluster, Path path) : cluster_(cluster), path_(path) {}

  [[nodiscard]] std::int64_t longest() const {
    std::int64_t longest = 0;
    for (int node = 0; node < cluster_.nodes(); ++node) {
      for (int rail = 0; rail < cluster_.rails(); ++rail) {
        longest = std::max(longest, sent(node, rail, cluster_.nodes() - 1));
      }
    }
    return longest;
  }

 private:
  /// When the node has sent everything on the rail up to wave k.
  [[nodiscard]] std::int64_t sent(int s, int rail, int k) const {
    if (k == 0) return 0;
    const int d = (s + k) % cluster_.nodes();
    const std::int64_t load = load_on(cluster_, path_, s, d, rail);
    if (load == 0) return sent(s, rail, k - 1);
    return load +
           std::max(sent(s, rail, k - 1), received(d, reference::chi(cluster_, s, d, rail), k - 1));
  }
  /// When the node has received everything on the rail up to wave k.
  [[nodiscard]] std::int64_t received(int d, int rail, int k) const {
    if (k == 0) return 0;
    const int s = (d - k + cluster_.nodes()) % cluster_.nodes();
    const int egress = reference::chi(cluster_, d, s, rail);
    const std::int64_t load = load_on(cluster_, path_, s, d, egress);
    if (load == 0) return received(d, rail, k - 1);
    return load + std::max(sent(s, egress, k - 1), received(d, rail, k - 1));
  }
  const Cluster& cluster_;
  Path path_;
};

RC_GTEST_PROP(PathBoundProperty, FreeWavesAreTheLongestChain, ()) {
  const Cluster cluster = *reference::any_cluster({4, 4, 8});
  for (const Path path : {Path::PermutationOnly, Path::Joint}) {
    const auto plan = DispatchPlan::create(topology_of(cluster), counts_of(cluster), {path, {}});
    RC_ASSERT(plan.has_value());
    RC_ASSERT(free_path_bound_records(*plan) == Chains(cluster, path).longest());
  }
}

}  // namespace
}  // namespace railwave::plan
