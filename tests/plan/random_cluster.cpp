#include "plan/random_cluster.hpp"

#include <algorithm>
#include <deque>
#include <numeric>
#include <set>

#include <boost/multiprecision/cpp_int.hpp>

namespace railwave::reference {
namespace {

template <class T>
std::size_t at(T value) {
  return static_cast<std::size_t>(value);
}

std::vector<std::vector<int>> any_home_rails(const std::vector<int>& ranks, int rails) {
  std::vector<std::vector<int>> home;
  for (const int here : ranks) {
    home.push_back(*rc::gen::container<std::vector<int>>(at(here), rc::gen::inRange(0, rails)));
  }
  return home;
}

std::vector<int> any_permutation(int rails) {
  std::vector<int> permutation(at(rails));
  std::iota(permutation.begin(), permutation.end(), 0);
  for (int r = rails - 1; r > 0; --r) {
    std::swap(permutation[at(r)], permutation[at(*rc::gen::inRange(0, r + 1))]);
  }
  return permutation;
}

std::vector<std::vector<std::vector<int>>> any_chi(int nodes, int rails) {
  std::vector<std::vector<std::vector<int>>> table(at(nodes),
                                                   std::vector<std::vector<int>>(at(nodes)));
  for (int s = 0; s < nodes; ++s) {
    for (int d = s + 1; d < nodes; ++d) table[at(s)][at(d)] = any_permutation(rails);
  }
  return table;
}

Counts any_counts(int nodes, int rails, std::int64_t most) {
  const int kind = *rc::gen::inRange(0, 4);
  Counts counts(at(nodes), std::vector<std::vector<std::int64_t>>(
                               at(rails), std::vector<std::int64_t>(at(nodes), 0)));
  for (int s = 0; s < nodes; ++s) {
    for (int r = 0; r < rails; ++r) {
      for (int d = 0; d < nodes; ++d) {
        if (s == d || (kind == 1 && *rc::gen::inRange(0, 4) != 0)) continue;  // sparse
        const std::int64_t top = kind == 2 && r != s % rails ? 2 : most;      // one hot rail
        counts[at(s)][at(r)][at(d)] =
            kind == 3 ? most : *rc::gen::inRange<std::int64_t>(0, top + 1);  // even
      }
    }
  }
  return counts;
}

bool every_pair_has_a_rail(const Cluster& cluster) {
  for (int s = 0; s < cluster.nodes(); ++s) {
    for (int d = 0; d < cluster.nodes(); ++d) {
      if (s != d && eligible(cluster, s, d).empty()) return false;
    }
  }
  return true;
}

/// Takes rails down one by one, but never a pair's last one.
void take_rails_down(Cluster& cluster) {
  cluster.options.live.assign(at(cluster.nodes()), std::vector<bool>(at(cluster.rails()), true));
  const int tries = *rc::gen::inRange(1, cluster.nodes() * cluster.rails() + 1);
  for (int i = 0; i < tries; ++i) {
    auto& row = cluster.options.live[at(*rc::gen::inRange(0, cluster.nodes()))];
    const std::size_t rail = at(*rc::gen::inRange(0, cluster.rails()));
    const bool before = row[rail];
    row[rail] = false;
    if (!every_pair_has_a_rail(cluster)) row[rail] = before;
  }
}

std::vector<std::vector<std::int64_t>> any_weights(int nodes, int rails) {
  const std::int64_t most = *rc::gen::element<std::int64_t>(2, 4, 1'000'000'000'000);
  std::vector<std::vector<std::int64_t>> weights;
  for (int node = 0; node < nodes; ++node) {
    weights.push_back(*rc::gen::container<std::vector<std::int64_t>>(
        at(rails), rc::gen::inRange<std::int64_t>(1, most + 1)));
  }
  // One rail slower everywhere, or every node as it likes.
  if (*rc::gen::arbitrary<bool>()) std::fill(weights.begin(), weights.end(), weights.front());
  return weights;
}

Cluster draw(const Shape& shape) {
  const int nodes = *rc::gen::inRange(1, shape.max_nodes + 1);
  const int rails = *rc::gen::inRange(1, shape.max_rails + 1);
  Cluster cluster;
  cluster.options.rails = rails;
  cluster.options.ranks_per_node =
      *rc::gen::container<std::vector<int>>(at(nodes), rc::gen::inRange(1, 6));
  if (*rc::gen::arbitrary<bool>()) {
    cluster.options.home_rail = any_home_rails(cluster.options.ranks_per_node, rails);
  }
  if (*rc::gen::arbitrary<bool>()) cluster.options.ingress = any_chi(nodes, rails);
  if (shape.missing_rails && *rc::gen::arbitrary<bool>()) take_rails_down(cluster);
  if (shape.uneven_rails) cluster.options.weights = any_weights(nodes, rails);
  cluster.counts = any_counts(nodes, rails, shape.max_records);
  return cluster;
}

}  // namespace

rc::Gen<Cluster> any_cluster(Shape shape) {
  // Full size from the first case on: the tests are cheap and small clusters hide most faults.
  return rc::gen::resize(rc::kNominalSize, rc::gen::exec([shape] { return draw(shape); }));
}

Topology topology_of(const Cluster& cluster) { return Topology::create(cluster.options).value(); }

RailCounts counts_of(const Cluster& cluster) {
  RailCounts counts(cluster.nodes(), cluster.rails());
  for (int s = 0; s < cluster.nodes(); ++s) {
    for (int r = 0; r < cluster.rails(); ++r) {
      for (int d = 0; d < cluster.nodes(); ++d) {
        counts.set(NodeId(s), RailId(r), NodeId(d), cluster.counts[at(s)][at(r)][at(d)]);
      }
    }
  }
  return counts;
}

int chi(const Cluster& cluster, int s, int d, int egress) {
  if (cluster.options.ingress.empty() || s == d) return egress;
  if (s < d) return cluster.options.ingress[at(s)][at(d)][at(egress)];
  for (int r = 0; r < cluster.rails(); ++r) {
    if (cluster.options.ingress[at(d)][at(s)][at(r)] == egress) return r;
  }
  return -1;
}

std::vector<int> eligible(const Cluster& cluster, int s, int d) {
  std::vector<int> rails;
  const auto& live = cluster.options.live;
  for (int r = 0; r < cluster.rails(); ++r) {
    if (live.empty() || (live[at(s)][at(r)] && live[at(d)][at(chi(cluster, s, d, r))])) {
      rails.push_back(r);
    }
  }
  return rails;
}

std::int64_t records(const Cluster& cluster, int s, int d) {
  std::int64_t sum = 0;
  for (int r = 0; r < cluster.rails(); ++r) sum += cluster.counts[at(s)][at(r)][at(d)];
  return sum;
}

int start(const Cluster& cluster, int s, int d) {
  if (s == d) return -1;
  std::int64_t sum = s;
  for (int before = 0; before < d; ++before) {
    if (before == s) continue;
    const auto m = static_cast<std::int64_t>(eligible(cluster, s, before).size());
    sum += records(cluster, s, before) % m;
  }
  return static_cast<int>(sum % static_cast<std::int64_t>(eligible(cluster, s, d).size()));
}

namespace {

bool has_uneven_rails(const Cluster& cluster, int s) {
  for (int d = 0; d < cluster.nodes(); ++d) {
    for (const int r : eligible(cluster, s, d)) {
      if (s != d && weight(cluster, s, d, r) != weight(cluster, s, d, eligible(cluster, s, d)[0])) {
        return true;
      }
    }
  }
  return false;
}

using Rational = boost::multiprecision::cpp_rational;
using Integer = boost::multiprecision::cpp_int;

Rational ideal_share(const Cluster& cluster, int s, int d, int rail) {
  Integer sum = 0;
  for (const int r : eligible(cluster, s, d)) sum += weight(cluster, s, d, r);
  return Rational(Integer(records(cluster, s, d)) * weight(cluster, s, d, rail), sum);
}

/// Shares rounded down; then record by record to whoever is furthest behind of those whose share is
/// not whole and that have not got one, the first from the start on.
std::vector<std::int64_t> weighted_quotas(const Cluster& cluster, int s, int d) {
  std::vector<Rational> behind(at(cluster.rails()), 0);
  std::vector<std::int64_t> given(at(cluster.rails()), 0);
  for (int to = 0; to <= d; ++to) {
    if (to == s) continue;
    const auto rails = eligible(cluster, s, to);
    std::int64_t left = records(cluster, s, to);
    std::fill(given.begin(), given.end(), 0);
    std::set<int> served;
    for (const int r : rails) {
      const Rational share = ideal_share(cluster, s, to, r);
      given[at(r)] = static_cast<std::int64_t>(Integer(numerator(share) / denominator(share)));
      if (share == given[at(r)]) served.insert(r);
      behind[at(r)] += share - given[at(r)];
      left -= given[at(r)];
    }
    for (; left > 0; --left) {
      int next = -1;
      for (std::size_t turn = 0; turn < rails.size(); ++turn) {
        const int r = rails[(at(start(cluster, s, to)) + turn) % rails.size()];
        if (served.count(r) > 0) continue;
        if (next < 0 || behind[at(r)] > behind[at(next)]) next = r;
      }
      served.insert(next);
      ++given[at(next)];
      behind[at(next)] -= 1;
    }
  }
  return given;
}

/// Deals the slice's records one by one around the eligible rails, from the start.
std::vector<std::int64_t> even_quotas(const Cluster& cluster, int s, int d) {
  const auto rails = eligible(cluster, s, d);
  std::vector<std::int64_t> given(at(cluster.rails()), 0);
  for (std::int64_t n = 0; n < records(cluster, s, d); ++n) {
    const auto turn = static_cast<std::int64_t>(start(cluster, s, d)) + n;
    ++given[at(rails[at(turn) % rails.size()])];
  }
  return given;
}

}  // namespace

std::int64_t weight(const Cluster& cluster, int s, int d, int egress) {
  if (cluster.options.weights.empty()) return 1;
  return std::min(cluster.options.weights[at(s)][at(egress)],
                  cluster.options.weights[at(d)][at(chi(cluster, s, d, egress))]);
}

std::vector<std::int64_t> quotas(const Cluster& cluster, int s, int d) {
  return has_uneven_rails(cluster, s) ? weighted_quotas(cluster, s, d) : even_quotas(cluster, s, d);
}

std::vector<Placed> balanced(const Cluster& cluster, int s, int d) {
  std::vector<Placed> placed;
  std::vector<Placed> surplus;
  std::deque<std::pair<int, std::int64_t>> deficit;
  const auto quota = quotas(cluster, s, d);
  for (int r = 0; r < cluster.rails(); ++r) {
    const std::int64_t own = cluster.counts[at(s)][at(r)][at(d)];
    const std::int64_t allowed = quota[at(r)];
    for (std::int64_t i = 0; i < own; ++i) {
      (i < allowed ? placed : surplus).push_back({r, i, r, i});
    }
    for (std::int64_t slot = own; slot < allowed; ++slot) deficit.emplace_back(r, slot);
  }
  for (Placed record : surplus) {
    record.rail = deficit.front().first;
    record.slot = deficit.front().second;
    deficit.pop_front();
    placed.push_back(record);
  }
  std::sort(placed.begin(), placed.end());
  return placed;
}

std::vector<Placed> at_home(const Cluster& cluster, int s, int d) {
  const auto rails = eligible(cluster, s, d);
  std::vector<Placed> placed;
  std::vector<Placed> stranded;
  for (int r = 0; r < cluster.rails(); ++r) {
    const bool stays = std::count(rails.begin(), rails.end(), r) > 0;
    for (std::int64_t i = 0; i < cluster.counts[at(s)][at(r)][at(d)]; ++i) {
      (stays ? placed : stranded).push_back({r, i, r, i});
    }
  }
  for (std::size_t n = 0; n < stranded.size(); ++n) {
    Placed record = stranded[n];
    record.rail = rails[(at(start(cluster, s, d)) + n) % rails.size()];
    record.slot = load(placed, record.rail);
    placed.push_back(record);
  }
  std::sort(placed.begin(), placed.end());
  return placed;
}

std::int64_t load(const std::vector<Placed>& placed, int rail) {
  return std::count_if(placed.begin(), placed.end(),
                       [&](const Placed& record) { return record.rail == rail; });
}

void showValue(const Placed& placed, std::ostream& out) {
  out << "(" << placed.home << "," << placed.index << ")->(" << placed.rail << "," << placed.slot
      << ")";
}

void showValue(const Cluster& cluster, std::ostream& out) {
  out << "rails " << cluster.rails() << ", ranks ";
  rc::show(cluster.options.ranks_per_node, out);
  out << ", home ";
  rc::show(cluster.options.home_rail, out);
  out << ", live ";
  rc::show(cluster.options.live, out);
  out << ", ingress ";
  rc::show(cluster.options.ingress, out);
  out << ", weights ";
  rc::show(cluster.options.weights, out);
  out << ", counts [s][r][d] ";
  rc::show(cluster.counts, out);
}

}  // namespace railwave::reference
