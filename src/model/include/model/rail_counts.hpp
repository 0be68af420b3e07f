// C[s,r,d]: records of home rail r at node s bound for node d, before balancing.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include <railwave/error.hpp>
#include <railwave/ids.hpp>
#include <railwave/topology.hpp>

#include "base/memory.hpp"

namespace railwave {

/// Record counts by source node, home rail and destination node (paper section 2.2).
/// Threads: an immutable value once filled.
class RailCounts {
 public:
  RailCounts(int nodes, int rails, Memory* memory = std::pmr::get_default_resource());
  /// From every rank's records per destination node, `records` [P, N]; entries for a rank's own
  /// node are ignored.
  static RailCounts from_ranks(const Topology& topology, std::span<const std::int64_t> records,
                               Memory* memory = std::pmr::get_default_resource());

  [[nodiscard]] int nodes() const { return nodes_; }
  [[nodiscard]] int rails() const { return rails_; }
  [[nodiscard]] std::int64_t at(NodeId s, RailId r, NodeId d) const {
    return count_[offset(s, r, d)];
  }
  void set(NodeId s, RailId r, NodeId d, std::int64_t records) {
    count_[offset(s, r, d)] = records;
  }
  /// Every count, [N, R, N] row-major.
  [[nodiscard]] std::span<const std::int64_t> cells() const { return count_; }
  /// B of the slice (s, d): the sum over all rails; 0 for s == d.
  [[nodiscard]] std::int64_t slice(NodeId s, NodeId d) const;
  /// slice(s, d) for every d, [N]. Cost O(N R), and little of it.
  [[nodiscard]] std::pmr::vector<std::int64_t> slices(
      NodeId s, Memory* memory = std::pmr::get_default_resource()) const;
  /// The sum over all slices.
  [[nodiscard]] std::int64_t total() const;
  /// The same records going back: combine's counts are not this (combine records keep the rails of
  /// the plan), but node demand is: at(d, r, s).
  [[nodiscard]] RailCounts transposed() const;

 private:
  [[nodiscard]] std::size_t offset(NodeId s, RailId r, NodeId d) const {
    return (s.index() * static_cast<std::size_t>(rails_) + r.index()) *
               static_cast<std::size_t>(nodes_) +
           d.index();
  }
  int nodes_;
  int rails_;
  std::pmr::vector<std::int64_t> count_;  // [N, R, N]
};

}  // namespace railwave
