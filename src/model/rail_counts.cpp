#include "model/rail_counts.hpp"

#include <array>
#include <type_traits>

#include "base/checked.hpp"

namespace railwave {
namespace {

std::int64_t plus(std::int64_t a, std::int64_t b) {
  const auto sum = checked_add(a, b);
  RAILWAVE_CHECK(sum.has_value(), "records %lld + %lld", static_cast<long long>(a),
                 static_cast<long long>(b));
  return *sum;
}

}  // namespace

RailCounts::RailCounts(int nodes, int rails, Memory* memory)
    : nodes_(nodes), rails_(rails), count_(memory) {
  RAILWAVE_CHECK(nodes >= 1 && rails >= 1, "nodes %d, rails %d", nodes, rails);
  const auto n = static_cast<std::size_t>(nodes);
  count_.assign(n * static_cast<std::size_t>(rails) * n, 0);
}

RailCounts RailCounts::from_ranks(const Topology& topology, std::span<const std::int64_t> records,
                                  Memory* memory) {
  const auto nodes = static_cast<std::size_t>(topology.nodes());
  RAILWAVE_CHECK(records.size() == static_cast<std::size_t>(topology.ranks()) * nodes,
                 "%zu counts for %d ranks and %d nodes", records.size(), topology.ranks(),
                 topology.nodes());
  RailCounts counts(topology.nodes(), topology.rails(), memory);
  for (std::size_t i = 0; i < records.size(); ++i) {
    const RankId rank(i / nodes);
    const NodeId source = topology.node_of(rank);
    const NodeId destination(i % nodes);
    if (source == destination) continue;
    auto& cell = counts.count_[counts.offset(source, topology.home_rail(rank), destination)];
    cell = plus(cell, records[i]);
  }
  return counts;
}

std::int64_t RailCounts::slice(NodeId s, NodeId d) const {
  if (s == d) return 0;
  std::int64_t sum = 0;
  for (RailId r(0); r.value < rails_; ++r.value) sum = plus(sum, at(s, r, d));
  return sum;
}

std::pmr::vector<std::int64_t> RailCounts::slices(NodeId s, Memory* memory) const {
  // Blocks of a fixed size are added up by vector instructions; cells below 2^32 on fewer than 2^31
  // rails can be added without looking for an overflow.
  constexpr std::size_t kBlock = 32;
  const auto n = static_cast<std::size_t>(nodes_);
  std::pmr::vector<std::int64_t> sums(n, 0, memory);
  const std::int64_t* const cells = &count_[offset(s, RailId(0), NodeId(0))];
  std::uint64_t bits = 0;
  const auto add_up = [&](std::size_t first, auto width) {
    std::array<std::uint64_t, width> sum{};
    std::array<std::uint64_t, width> seen{};
    for (std::size_t r = 0; r < static_cast<std::size_t>(rails_); ++r) {
      for (std::size_t i = 0; i < width; ++i) {
        const auto records = static_cast<std::uint64_t>(cells[r * n + first + i]);
        sum[i] += records;
        seen[i] |= records;
      }
    }
    for (std::size_t i = 0; i < width; ++i) {
      sums[first + i] = static_cast<std::int64_t>(sum[i]);
      bits |= seen[i];
    }
  };
  std::size_t d = 0;
  for (; d + kBlock <= n; d += kBlock) add_up(d, std::integral_constant<std::size_t, kBlock>{});
  for (; d < n; ++d) add_up(d, std::integral_constant<std::size_t, 1>{});
  if (bits >> 32 != 0) {
    for (NodeId to(0); to.value < nodes_; ++to.value) sums[to.index()] = slice(s, to);
  }
  sums[s.index()] = 0;
  return sums;
}

std::int64_t RailCounts::total() const {
  std::int64_t sum = 0;
  for (NodeId s(0); s.value < nodes_; ++s.value) {
    for (NodeId d(0); d.value < nodes_; ++d.value) sum = plus(sum, slice(s, d));
  }
  return sum;
}

RailCounts RailCounts::transposed() const {
  RailCounts back(nodes_, rails_);
  for (NodeId s(0); s.value < nodes_; ++s.value) {
    for (RailId r(0); r.value < rails_; ++r.value) {
      for (NodeId d(0); d.value < nodes_; ++d.value) back.set(d, r, s, at(s, r, d));
    }
  }
  return back;
}

}  // namespace railwave
