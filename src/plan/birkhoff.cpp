#include "plan/birkhoff.hpp"

#include <algorithm>
#include <numeric>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/max_cardinality_matching.hpp>

#include "base/checked.hpp"

namespace railwave::plan {
namespace {

using Matrix = std::vector<std::int64_t>;   // [N, N]
using Matching = std::vector<std::size_t>;  // [N] the column of each row

Matrix demand_of(const RailCounts& counts) {
  Matrix demand;
  for (NodeId s(0); s.value < counts.nodes(); ++s.value) {
    for (NodeId d(0); d.value < counts.nodes(); ++d.value) demand.push_back(counts.slice(s, d));
  }
  return demand;
}

/// What each row and each column lacks to the largest of their sums.
struct Lack {
  std::vector<std::int64_t> row;
  std::vector<std::int64_t> column;
};

Lack lack_of(const Matrix& demand, std::size_t n) {
  Lack lack{std::vector<std::int64_t>(n, 0), std::vector<std::int64_t>(n, 0)};
  for (std::size_t i = 0; i < demand.size(); ++i) {
    lack.row[i / n] += demand[i];
    lack.column[i % n] += demand[i];
  }
  const std::int64_t largest = std::max(*std::max_element(lack.row.begin(), lack.row.end()),
                                        *std::max_element(lack.column.begin(), lack.column.end()));
  for (auto* sums : {&lack.row, &lack.column}) {
    for (std::int64_t& sum : *sums) sum = largest - sum;
  }
  return lack;
}

/// Row by row, into the first columns that lack something.
Matrix padded(Matrix demand, std::size_t n) {
  Lack lack = lack_of(demand, n);
  std::size_t column = 0;
  for (std::size_t row = 0; row < n; ++row) {
    while (lack.row[row] > 0) {
      while (lack.column[column] == 0) ++column;
      const std::int64_t add = std::min(lack.row[row], lack.column[column]);
      demand[row * n + column] += add;
      lack.row[row] -= add;
      lack.column[column] -= add;
    }
  }
  return demand;
}

/// A perfect matching of the entries that are left. There is one: all rows and columns have the
/// same sum.
Matching matching_of(const Matrix& left, std::size_t n) {
  using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS>;
  Graph graph(2 * n);
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i] > 0) boost::add_edge(i / n, n + i % n, graph);
  }
  std::vector<Graph::vertex_descriptor> mate(2 * n);
  boost::edmonds_maximum_cardinality_matching(graph, mate.data());
  Matching matching(n);
  for (std::size_t row = 0; row < n; ++row) {
    RAILWAVE_CHECK(mate[row] >= n && mate[row] < 2 * n, "row %zu has no partner", row);
    matching[row] = mate[row] - n;
  }
  return matching;
}

struct Step {
  std::int64_t length = 0;
  Matching matching;
};

std::vector<Step> decomposed(Matrix left, std::size_t n) {
  std::vector<Step> steps;
  std::int64_t rest =
      std::accumulate(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(n), std::int64_t{0});
  while (rest > 0) {
    Step step{rest, matching_of(left, n)};
    for (std::size_t row = 0; row < n; ++row) {
      step.length = std::min(step.length, left[row * n + step.matching[row]]);
    }
    for (std::size_t row = 0; row < n; ++row) left[row * n + step.matching[row]] -= step.length;
    rest -= step.length;
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace

std::vector<Stage> birkhoff_stages(const RailCounts& counts) {
  const auto n = static_cast<std::size_t>(counts.nodes());
  Matrix demand = demand_of(counts);
  auto steps = decomposed(padded(demand, n), n);
  std::stable_sort(steps.begin(), steps.end(),
                   [](const Step& a, const Step& b) { return a.length > b.length; });
  std::vector<Stage> stages;
  for (const Step& step : steps) {
    Stage stage{step.length, {}};
    for (std::size_t row = 0; row < n; ++row) {
      std::int64_t& left = demand[row * n + step.matching[row]];
      const std::int64_t records = std::min(left, step.length);
      left -= records;
      if (records > 0) stage.parts.push_back({{NodeId(row), NodeId(step.matching[row])}, records});
    }
    if (!stage.parts.empty()) stages.push_back(std::move(stage));
  }
  return stages;
}

namespace {

/// The share of `amount` that falls to each load, rounded down, in `share`; what is lost by
/// rounding, in units of 1/total, in `fraction`.
void floor_shares(const std::vector<std::int64_t>& loads, std::int64_t amount, std::int64_t total,
                  std::vector<std::int64_t>& share, std::vector<std::int64_t>& fraction) {
  for (std::size_t r = 0; r < loads.size(); ++r) {
    const __int128 product = static_cast<__int128>(amount) * loads[r];
    share[r] = static_cast<std::int64_t>(product / total);
    fraction[r] = static_cast<std::int64_t>(product % total);
  }
}

}  // namespace

std::vector<std::int64_t> split_over_stages(std::vector<std::int64_t> loads,
                                            const std::vector<std::int64_t>& amounts) {
  const std::size_t rails = loads.size();
  std::vector<std::int64_t> split;
  std::vector<std::int64_t> share(rails);
  std::vector<std::int64_t> fraction(rails);
  std::vector<std::size_t> order(rails);
  for (const std::int64_t amount : amounts) {
    const std::int64_t total = std::accumulate(loads.begin(), loads.end(), std::int64_t{0});
    RAILWAVE_CHECK(0 < amount && amount <= total, "%lld records of %lld",
                   static_cast<long long>(amount), static_cast<long long>(total));
    floor_shares(loads, amount, total, share, fraction);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return fraction[a] > fraction[b]; });
    const std::int64_t given = std::accumulate(share.begin(), share.end(), std::int64_t{0});
    for (std::size_t i = 0; i < static_cast<std::size_t>(amount - given); ++i) ++share[order[i]];
    for (std::size_t r = 0; r < rails; ++r) loads[r] -= share[r];
    split.insert(split.end(), share.begin(), share.end());
  }
  return split;
}

}  // namespace railwave::plan
