#include "worst_subset.hpp"

#include <utility>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>
#include <boost/multiprecision/cpp_int.hpp>

namespace railwave::plan {

bool larger(const Ratio& a, const Ratio& b) {
  return static_cast<__int128>(a.num) * b.den > static_cast<__int128>(b.num) * a.den;
}

namespace {

/// So many unions are sooner looked at than a flow is found.
constexpr std::size_t kFewSets = 4;

/// The product of two sums that fit into 63 bits each.
using Capacity = boost::multiprecision::int128_t;

std::int64_t weight_of(const RailSet& rails, const std::vector<std::int64_t>& weights) {
  std::int64_t weight = 0;
  for (auto r = rails.find_first(); r != RailSet::npos; r = rails.find_next(r))
    weight += weights[r];
  return weight;
}

/// Source -> sets -> their rails -> sink. A set has room for q times its records, a rail for p
/// times its weight, what lies between for everything. A cut keeps some sets, and with them their
/// rails, on the source's side: it is below q times all records by what those sets have above p/q.
class Network {
 public:
  Network(const RecordsByRails& records, const std::vector<std::int64_t>& weights, Ratio known)
      : graph_(2 + records.size() + weights.size()) {
    const std::size_t first_rail = kFirstSet + records.size();
    for (const auto& [rails, count] : records) all_ += Capacity(known.den) * count;
    std::size_t set = kFirstSet;
    for (const auto& [rails, count] : records) {
      connect(kSource, set, Capacity(known.den) * count);
      for (auto r = rails.find_first(); r != RailSet::npos; r = rails.find_next(r)) {
        connect(set, first_rail + r, all_);
      }
      ++set;
    }
    for (std::size_t r = 0; r < weights.size(); ++r) {
      connect(first_rail + r, kSink, Capacity(known.num) * weights[r]);
    }
  }

  /// Whether some sets of rails together have more than the ratio.
  bool overflows() { return boost::push_relabel_max_flow(graph_, kSource, kSink) < all_; }

  /// Which vertices the source still reaches; the sets among them have more. [vertices]
  [[nodiscard]] std::vector<bool> source_side() const {
    std::vector<bool> reached(num_vertices(graph_), false);
    std::vector<std::size_t> next{kSource};
    reached[kSource] = true;
    const auto residual = get(boost::edge_residual_capacity, graph_);
    while (!next.empty()) {
      const std::size_t from = next.back();
      next.pop_back();
      for (auto [edge, end] = out_edges(from, graph_); edge != end; ++edge) {
        const std::size_t to = target(*edge, graph_);
        if (reached[to] || residual[*edge] == 0) continue;
        reached[to] = true;
        next.push_back(to);
      }
    }
    return reached;
  }

  static constexpr std::size_t kFirstSet = 2;

 private:
  using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
  using Graph = boost::adjacency_list<
      boost::vecS, boost::vecS, boost::directedS, boost::no_property,
      boost::property<
          boost::edge_capacity_t, Capacity,
          boost::property<boost::edge_residual_capacity_t, Capacity,
                          boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>>;
  static constexpr std::size_t kSource = 0;
  static constexpr std::size_t kSink = 1;

  void connect(std::size_t from, std::size_t to, const Capacity& capacity) {
    const auto there = add_edge(from, to, graph_).first;
    const auto back = add_edge(to, from, graph_).first;
    put(boost::edge_capacity, graph_, there, capacity);
    put(boost::edge_reverse, graph_, there, back);
    put(boost::edge_reverse, graph_, back, there);
  }

  Graph graph_;
  Capacity all_ = 0;
};

/// Of the records by sets that `chosen(i)` says of the i-th set, over the weight of their rails.
template <class Chosen>
Ratio ratio_of(Chosen chosen, const RecordsByRails& records,
               const std::vector<std::int64_t>& weights) {
  RailSet joined(weights.size());
  std::int64_t sum = 0;
  std::size_t set = 0;
  for (const auto& [rails, count] : records) {
    if (!chosen(set++)) continue;
    joined |= rails;
    sum += count;
  }
  return reduced(sum, weight_of(joined, weights));
}

/// All unions of a few sets.
Ratio worst_of_few(const RecordsByRails& records, const std::vector<std::int64_t>& weights,
                   Ratio known) {
  for (unsigned some = 1; some < 1U << records.size(); ++some) {
    const auto chosen = [&](std::size_t i) { return (some >> i & 1U) != 0; };
    const Ratio load = ratio_of(chosen, records, weights);
    if (larger(load, known)) known = load;
  }
  return known;
}

}  // namespace

Ratio worst_subset(const RecordsByRails& records, const std::vector<std::int64_t>& weights,
                   Ratio known) {
  // The best A is a union of sets: any other A shrinks to the union of what lies in it.
  if (records.size() <= kFewSets) return worst_of_few(records, weights, known);
  for (;;) {
    Network network(records, weights, known);
    if (!network.overflows()) return known;
    const auto side = network.source_side();
    known = ratio_of([&](std::size_t i) { return side[Network::kFirstSet + i]; }, records, weights);
  }
}

}  // namespace railwave::plan
