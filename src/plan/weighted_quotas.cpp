#include <algorithm>

#include "base/checked.hpp"
#include "plan/rail_balance.hpp"

namespace railwave::plan {
namespace {

/// Records in units of 2^-62. Sums over many slices pass 64 bits.
using Fraction = __int128;
constexpr Fraction kOne = Fraction{1} << 62;

/// One source's rails while its slices are dealt, destinations ascending.
class Dealer {
 public:
  Dealer(const Topology& topology, const RailCounts& counts, NodeId source, Memory* memory)
      : topology_(topology),
        counts_(counts),
        source_(source),
        behind_(static_cast<std::size_t>(topology.rails()), 0, memory),
        queue_(memory) {}

  /// Fills one row [R]. REQUIRES: rows ascend by destination, `quota` is all zeros.
  void deal(NodeId destination, int start, std::span<std::int64_t> quota) {
    const std::int64_t left = give_floors({source_, destination}, start, quota);
    line_up();
    for (std::size_t i = 0; i < static_cast<std::size_t>(left); ++i) {
      ++quota[queue_[i].rail.index()];
      behind_[queue_[i].rail.index()] -= kOne;
    }
  }

 private:
  struct Place {
    RailId rail;
    std::size_t turn;
  };

  /// Gives every rail its ideal share rounded down and queues those whose share is not whole.
  /// Returns how many records are left over.
  std::int64_t give_floors(NodePair slice, int start, std::span<std::int64_t> quota) {
    const auto eligible = topology_.eligible(slice.source, slice.destination);
    const std::size_t m = eligible.size();
    std::int64_t sum = 0;
    for (const RailId rail : eligible) sum += topology_.weight(slice, rail);
    const std::int64_t records = counts_.slice(slice.source, slice.destination);
    std::int64_t left = records;
    queue_.clear();
    for (std::size_t j = 0; j < m; ++j) {
      const RailId rail = eligible[j];
      const __int128 share = static_cast<__int128>(records) * topology_.weight(slice, rail);
      quota[rail.index()] = static_cast<std::int64_t>(share / sum);
      left -= quota[rail.index()];
      if (share % sum == 0) continue;
      behind_[rail.index()] += share % sum * kOne / sum;
      queue_.push_back({rail, (j + m - static_cast<std::size_t>(start)) % m});
    }
    return left;
  }

  /// The furthest behind first.
  void line_up() {
    std::sort(queue_.begin(), queue_.end(), [&](const Place& a, const Place& b) {
      const Fraction first = behind_[a.rail.index()];
      const Fraction second = behind_[b.rail.index()];
      return first != second ? first > second : a.turn < b.turn;
    });
  }

  const Topology& topology_;
  const RailCounts& counts_;
  NodeId source_;
  std::pmr::vector<Fraction> behind_;  // [R] ideal shares so far less what was given
  std::pmr::vector<Place> queue_;
};

}  // namespace

std::pmr::vector<std::int64_t> weighted_quotas(const Topology& topology, const RailCounts& counts,
                                               NodeId source, Memory* memory) {
  const auto rails = static_cast<std::size_t>(topology.rails());
  std::pmr::vector<std::int64_t> quotas(static_cast<std::size_t>(topology.nodes()) * rails, 0,
                                        memory);
  const auto starts = remainder_starts(topology, counts.slices(source, memory), source, memory);
  Dealer dealer(topology, counts, source, memory);
  for (NodeId d(0); d.value < topology.nodes(); ++d.value) {
    if (d == source) continue;
    dealer.deal(d, starts[d.index()], std::span(quotas).subspan(d.index() * rails, rails));
  }
  return quotas;
}

}  // namespace railwave::plan
