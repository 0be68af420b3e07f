#include <algorithm>
#include <numeric>
#include <optional>

#include <boost/multiprecision/cpp_int.hpp>

#include "plan/rail_balance.hpp"

namespace railwave::plan {
namespace {

/// Whole numbers of 1/denominator of a record; the denominator is a multiple of every slice's sum
/// of weights, so that ideal shares are exact.
using Narrow = __int128;
using Long = boost::multiprecision::number<boost::multiprecision::cpp_int_backend<>,
                                           boost::multiprecision::et_off>;

/// A rail is behind by less than a record a slice, and there are below 2^31 slices.
constexpr Narrow kMostNarrow = Narrow{1} << 95;

/// What the slices of one source are dealt by.
struct Source {
  const Topology& topology;
  const RailCounts& counts;
  NodeId node;
  std::pmr::vector<std::int64_t> weights;  // [N] sum over eligible rails; 1 without records
};

std::pmr::vector<std::int64_t> sums_of_weights(const Topology& topology, const RailCounts& counts,
                                               NodeId source, Memory* memory) {
  std::pmr::vector<std::int64_t> sums(static_cast<std::size_t>(topology.nodes()), 1, memory);
  for (NodeId d(0); d.value < topology.nodes(); ++d.value) {
    if (d == source || counts.slice(source, d) == 0) continue;
    const NodePair slice{source, d};
    sums[d.index()] = 0;
    for (const RailId rail : topology.eligible(source, d)) {
      sums[d.index()] += topology.weight(slice, rail);
    }
  }
  return sums;
}

/// The least common multiple; absent when it is not narrow.
std::optional<Narrow> narrow_multiple(std::span<const std::int64_t> sums) {
  Narrow multiple = 1;
  for (const std::int64_t sum : sums) {
    const std::int64_t factor = sum / std::gcd(sum, static_cast<std::int64_t>(multiple % sum));
    if (multiple > kMostNarrow / factor) return std::nullopt;
    multiple *= factor;
  }
  return multiple;
}

Long long_multiple(std::span<const std::int64_t> sums) {
  Long multiple = 1;
  for (const std::int64_t sum : sums) multiple = lcm(multiple, Long(sum));
  return multiple;
}

/// One source's rails while its slices are dealt, destinations ascending.
template <class Number>
class Dealer {
 public:
  Dealer(const Source& source, Number denominator, Memory* memory)
      : source_(source),
        one_(std::move(denominator)),
        behind_(static_cast<std::size_t>(source.topology.rails()), Number(0), memory),
        queue_(memory) {}

  /// Fills one row [R]. REQUIRES: rows ascend by destination, `quota` is all zeros.
  void deal(NodeId destination, int start, std::span<std::int64_t> quota) {
    const std::int64_t left = give_floors(destination, start, quota);
    line_up();
    for (std::size_t i = 0; i < static_cast<std::size_t>(left); ++i) {
      ++quota[queue_[i].rail.index()];
      behind_[queue_[i].rail.index()] -= one_;
    }
  }

 private:
  struct Place {
    RailId rail;
    std::size_t turn;
  };

  /// Gives every rail its ideal share rounded down and queues those whose share is not whole.
  /// Returns how many records are left over.
  std::int64_t give_floors(NodeId destination, int start, std::span<std::int64_t> quota) {
    const NodePair slice{source_.node, destination};
    const auto eligible = source_.topology.eligible(slice.source, slice.destination);
    const std::size_t m = eligible.size();
    const std::int64_t sum = source_.weights[destination.index()];
    const Number part = one_ / sum;
    const std::int64_t records = source_.counts.slice(slice.source, slice.destination);
    std::int64_t left = records;
    queue_.clear();
    for (std::size_t j = 0; j < m; ++j) {
      const RailId rail = eligible[j];
      const auto share = static_cast<__int128>(records) * source_.topology.weight(slice, rail);
      quota[rail.index()] = static_cast<std::int64_t>(share / sum);
      left -= quota[rail.index()];
      const auto rest = static_cast<std::int64_t>(share % sum);
      if (rest == 0) continue;
      behind_[rail.index()] += part * rest;
      queue_.push_back({rail, (j + m - static_cast<std::size_t>(start)) % m});
    }
    return left;
  }

  /// The furthest behind first.
  void line_up() {
    std::sort(queue_.begin(), queue_.end(), [&](const Place& a, const Place& b) {
      const Number& first = behind_[a.rail.index()];
      const Number& second = behind_[b.rail.index()];
      return first != second ? first > second : a.turn < b.turn;
    });
  }

  const Source& source_;
  Number one_;                       // a record
  std::pmr::vector<Number> behind_;  // [R] ideal shares so far less what was given
  std::pmr::vector<Place> queue_;
};

template <class Number>
std::pmr::vector<std::int64_t> dealt(const Source& source, Number denominator, Memory* memory) {
  const auto rails = static_cast<std::size_t>(source.topology.rails());
  const auto nodes = static_cast<std::size_t>(source.topology.nodes());
  std::pmr::vector<std::int64_t> quotas(nodes * rails, 0, memory);
  const auto starts = remainder_starts(source.topology, source.counts.slices(source.node, memory),
                                       source.node, memory);
  Dealer<Number> dealer(source, std::move(denominator), memory);
  for (NodeId d(0); d.value < source.topology.nodes(); ++d.value) {
    if (d == source.node) continue;
    dealer.deal(d, starts[d.index()], std::span(quotas).subspan(d.index() * rails, rails));
  }
  return quotas;
}

}  // namespace

std::pmr::vector<std::int64_t> weighted_quotas(const Topology& topology, const RailCounts& counts,
                                               NodeId source, Memory* memory) {
  const Source from{topology, counts, source, sums_of_weights(topology, counts, source, memory)};
  if (const auto denominator = narrow_multiple(from.weights)) {
    return dealt<Narrow>(from, *denominator, memory);
  }
  return dealt<Long>(from, long_multiple(from.weights), memory);
}

}  // namespace railwave::plan
