// The planners of others on any cluster.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plan/birkhoff.hpp"
#include "plan/capacity.hpp"
#include "plan/dispatch_plan.hpp"
#include "plan/lower_bound.hpp"
#include "plan/pairwise.hpp"
#include "plan/random_cluster.hpp"
#include "plan/spray.hpp"

namespace railwave::plan {
namespace {

using reference::Cluster;

/// The largest row or column sum of the node demand.
std::int64_t largest_sum(const Cluster& cluster) {
  std::int64_t largest = 0;
  for (int node = 0; node < cluster.nodes(); ++node) {
    std::int64_t out = 0;
    std::int64_t in = 0;
    for (int other = 0; other < cluster.nodes(); ++other) {
      if (other == node) continue;
      out += reference::records(cluster, node, other);
      in += reference::records(cluster, other, node);
    }
    largest = std::max({largest, out, in});
  }
  return largest;
}

RC_GTEST_PROP(BirkhoffProperty, StagesAreMatchingsAndAddUpToTheDemand, ()) {
  const Cluster cluster = *reference::any_cluster({7, 2, 60});
  const auto stages = birkhoff_stages(counts_of(cluster));
  const auto n = static_cast<std::size_t>(cluster.nodes());
  RC_ASSERT(stages.size() <= n * n - 2 * n + 2);
  std::map<NodePair, std::int64_t> sent;
  std::int64_t lengths = 0;
  std::int64_t before = std::numeric_limits<std::int64_t>::max();
  for (const Stage& stage : stages) {
    std::set<NodeId> senders;
    std::set<NodeId> receivers;
    RC_ASSERT(!stage.parts.empty());
    RC_ASSERT(0 < stage.length && stage.length <= before);
    before = stage.length;
    lengths += stage.length;
    for (const auto& [pair, records] : stage.parts) {
      RC_ASSERT(senders.insert(pair.source).second);
      RC_ASSERT(receivers.insert(pair.destination).second);
      RC_ASSERT(0 < records && records <= stage.length);
      sent[pair] += records;
    }
  }
  RC_ASSERT(lengths <= largest_sum(cluster));
  for (int s = 0; s < cluster.nodes(); ++s) {
    for (int d = 0; d < cluster.nodes(); ++d) {
      const std::int64_t expected = s == d ? 0 : reference::records(cluster, s, d);
      RC_ASSERT((sent[{NodeId(s), NodeId(d)}]) == expected);
    }
  }
}

using Entries = std::vector<std::vector<std::int64_t>>;

/// Finds the row a column by turning others away, depth first; `tried` [N] columns.
bool finds_a_column(const Entries& left, std::size_t row, std::vector<bool>& tried,
                    std::vector<int>& owner) {
  for (std::size_t column = 0; column < left.size(); ++column) {
    if (left[row][column] == 0 || tried[column]) continue;
    tried[column] = true;
    if (owner[column] >= 0 &&
        !finds_a_column(left, static_cast<std::size_t>(owner[column]), tried, owner)) {
      continue;
    }
    owner[column] = static_cast<int>(row);
    return true;
  }
  return false;
}

bool has_a_perfect_matching(const Entries& left) {
  std::vector<int> owner(left.size(), -1);
  for (std::size_t row = 0; row < left.size(); ++row) {
    std::vector<bool> tried(left.size(), false);
    if (!finds_a_column(left, row, tried, owner)) return false;
  }
  return true;
}

/// Row by row the lowest column that leaves the others a perfect matching.
std::vector<std::size_t> first_matching(Entries left) {
  std::vector<std::size_t> columns;
  for (auto& row : left) {
    const auto all = row;
    for (std::size_t column = 0; columns.size() < static_cast<std::size_t>(&row - left.data()) + 1;
         ++column) {
      if (all[column] == 0) continue;
      row.assign(left.size(), 0);
      row[column] = 1;
      if (has_a_perfect_matching(left)) columns.push_back(column);
    }
  }
  return columns;
}

Entries padded_demand(const Cluster& cluster) {
  const auto n = static_cast<std::size_t>(cluster.nodes());
  Entries padded(n, std::vector<std::int64_t>(n, 0));
  std::vector<std::int64_t> row_lacks(n, largest_sum(cluster));
  std::vector<std::int64_t> column_lacks = row_lacks;
  for (std::size_t s = 0; s < n; ++s) {
    for (std::size_t d = 0; d < n; ++d) {
      if (s == d) continue;
      padded[s][d] = reference::records(cluster, static_cast<int>(s), static_cast<int>(d));
      row_lacks[s] -= padded[s][d];
      column_lacks[d] -= padded[s][d];
    }
  }
  for (std::size_t s = 0; s < n; ++s) {
    for (std::size_t d = 0; d < n; ++d) {
      const std::int64_t add = std::min(row_lacks[s], column_lacks[d]);
      padded[s][d] += add;
      row_lacks[s] -= add;
      column_lacks[d] -= add;
    }
  }
  return padded;
}

/// Every stage is the definition's, not just any decomposition.
RC_GTEST_PROP(BirkhoffProperty, MatchingsAreTheFirst, ()) {
  const Cluster cluster = *reference::any_cluster({7, 2, 12});
  const auto n = static_cast<std::size_t>(cluster.nodes());
  Entries left = padded_demand(cluster);
  std::vector<std::pair<std::int64_t, std::vector<std::size_t>>> found;
  for (std::int64_t rest = largest_sum(cluster); rest > 0; rest -= found.back().first) {
    const auto columns = first_matching(left);
    std::int64_t length = rest;
    for (std::size_t s = 0; s < n; ++s) length = std::min(length, left[s][columns[s]]);
    for (std::size_t s = 0; s < n; ++s) left[s][columns[s]] -= length;
    found.emplace_back(length, columns);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::map<NodePair, std::int64_t> demand;
  auto stage = birkhoff_stages(counts_of(cluster));
  std::reverse(stage.begin(), stage.end());
  for (const auto& [length, columns] : found) {
    std::vector<StagePart> parts;
    for (std::size_t s = 0; s < n; ++s) {
      if (s == columns[s]) continue;
      const NodePair pair{NodeId(s), NodeId(columns[s])};
      const std::int64_t all =
          reference::records(cluster, static_cast<int>(s), static_cast<int>(columns[s]));
      const std::int64_t records = std::min(length, all - demand[pair]);
      demand[pair] += records;
      if (records > 0) parts.push_back({pair, records});
    }
    if (parts.empty()) continue;
    RC_ASSERT(!stage.empty());
    RC_ASSERT(stage.back().length == length);
    RC_ASSERT(stage.back().parts == parts);
    stage.pop_back();
  }
  RC_ASSERT(stage.empty());
}

/// Where the largest sum is a sender's or receiver's, all stages together are the lower bound.
RC_GTEST_PROP(BirkhoffProperty, BarriersCostOnlyTheRounding, ()) {
  const Cluster cluster = *reference::any_cluster({6, 4, 200, false});
  const Topology topology = topology_of(cluster);
  const auto plan = DispatchPlan::create(topology, counts_of(cluster), {Path::Birkhoff, {}});
  RC_ASSERT(plan.has_value());
  const auto stages = static_cast<std::int64_t>(plan->windows().size());
  const Ratio bound = bound_records(topology, counts_of(cluster));
  // Per stage less than one record of rounding on the fullest rail, and one in the quotas.
  RC_ASSERT((barrier_path_bound_records(*plan) - 2 * stages) * bound.den <= bound.num);
}

RC_GTEST_PROP(BirkhoffProperty, SplitsAreSharesOfWhatIsLeft, ()) {
  const auto loads = *rc::gen::nonEmpty(
      rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 1000)));
  std::int64_t left = std::accumulate(loads.begin(), loads.end(), std::int64_t{0});
  std::vector<std::int64_t> amounts;
  while (left > 0) {
    amounts.push_back(*rc::gen::inRange<std::int64_t>(1, left + 1));
    left -= amounts.back();
  }
  const auto split = split_over_stages(loads, amounts);
  RC_ASSERT(split.size() == loads.size() * amounts.size());
  auto rest = loads;
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    const auto total = std::accumulate(rest.begin(), rest.end(), std::int64_t{0});
    std::int64_t sum = 0;
    for (std::size_t r = 0; r < loads.size(); ++r) {
      const std::int64_t here = split[i * loads.size() + r];
      RC_ASSERT(std::abs(here * total - amounts[i] * rest[r]) < total);
      rest[r] -= here;
      RC_ASSERT(rest[r] >= 0);
      sum += here;
    }
    RC_ASSERT(sum == amounts[i]);
  }
  RC_ASSERT(std::all_of(rest.begin(), rest.end(), [](std::int64_t r) { return r == 0; }));
}

RC_GTEST_PROP(PairwiseProperty, EveryPairMeetsOnceBothWays, ()) {
  const int nodes = *rc::gen::inRange(1, 40);
  const Windows rounds = pairwise_rounds(nodes);
  std::set<NodePair> met;
  for (const Window& round : rounds) {
    std::map<NodeId, NodeId> partner;
    for (const NodePair pair : round) {
      RC_ASSERT(pair.source != pair.destination);
      RC_ASSERT(partner.emplace(pair.source, pair.destination).second);
      RC_ASSERT(met.insert(pair).second);
    }
    for (const auto& [s, d] : partner) RC_ASSERT(partner.at(d) == s);
    RC_ASSERT(static_cast<int>(round.size()) == nodes - nodes % 2);
  }
  RC_ASSERT(static_cast<int>(met.size()) == nodes * (nodes - 1));
  RC_ASSERT(static_cast<int>(rounds.size()) == (nodes == 1 ? 0 : nodes - 1 + nodes % 2));
}

/// Longest chunk first, without segments: what each rail carries of each destination.
std::map<std::pair<int, int>, std::int64_t> sprayed_loads(const Cluster& cluster, int s) {
  struct Piece {
    std::int64_t size;
    int d, home, part;
    bool operator<(const Piece& b) const {
      return std::tie(b.size, d, home, part) < std::tie(size, b.d, b.home, b.part);
    }
  };
  std::set<Piece> pieces;
  std::map<std::pair<int, int>, std::int64_t> room;
  for (int d = 0; d < cluster.nodes(); ++d) {
    if (d == s) continue;
    const auto rails = reference::eligible(cluster, s, d);
    const auto m = static_cast<std::int64_t>(rails.size());
    for (int home = 0; home < cluster.rails(); ++home) {
      const auto at = [](int i) { return static_cast<std::size_t>(i); };
      const std::int64_t flow = cluster.counts[at(s)][at(home)][at(d)];
      std::vector<std::int64_t> sizes(rails.size(), 0);
      for (std::int64_t i = 0; i < flow; ++i) ++sizes[static_cast<std::size_t>(i % m)];
      for (int part = 0; part < static_cast<int>(m); ++part) {
        if (sizes[at(part)] > 0) pieces.insert({sizes[at(part)], d, home, part});
      }
      if (std::count(rails.begin(), rails.end(), home) == 0) continue;
      room[{d, home}] = std::max(flow, (reference::records(cluster, s, d) + m - 1) / m);
    }
  }
  std::map<std::pair<int, int>, std::int64_t> load;
  std::map<int, std::int64_t> total;
  for (const Piece& piece : pieces) {
    for (std::int64_t left = piece.size; left > 0;) {
      std::vector<std::array<std::int64_t, 2>> free;  // total, steps up from home
      for (int i = 0; i < cluster.rails(); ++i) {
        const int r = (piece.home + i) % cluster.rails();
        if (room[{piece.d, r}] > load[{piece.d, r}]) free.push_back({total[r], i});
      }
      const auto steps = static_cast<int>((*std::min_element(free.begin(), free.end()))[1]);
      const int r = (piece.home + steps) % cluster.rails();
      const std::int64_t take = std::min(left, room[{piece.d, r}] - load[{piece.d, r}]);
      load[{piece.d, r}] += take;
      total[r] += take;
      left -= take;
    }
  }
  return load;
}

RC_GTEST_PROP(SprayProperty, LoadsFollowTheDefinition, ()) {
  const Cluster cluster = *reference::any_cluster({4, 5, 20});
  for (int s = 0; s < cluster.nodes(); ++s) {
    const auto slices = spray(topology_of(cluster), counts_of(cluster), NodeId(s));
    auto expected = sprayed_loads(cluster, s);
    for (int d = 0; d < cluster.nodes(); ++d) {
      if (d == s) continue;
      for (int r = 0; r < cluster.rails(); ++r) {
        RC_ASSERT((slices[static_cast<std::size_t>(d)].load[static_cast<std::size_t>(r)] ==
                   expected[{d, r}]));
      }
    }
  }
}

}  // namespace
}  // namespace railwave::plan
