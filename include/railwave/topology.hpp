// The shape of a cluster: nodes, ranks, rails, who drives which rail.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <railwave/error.hpp>
#include <railwave/ids.hpp>

namespace railwave {

/// An immutable cluster shape (DESIGN sections 2 and 5.1). Ranks are numbered node by node.
/// Threads: values may be shared freely.
class Topology {
 public:
  struct Options {
    std::vector<int> ranks_per_node;  ///< [N], each >= 1
    int rails = 1;                    ///< R >= 1
    /// [N][G_s] the rail on which each rank's own traffic leaves; empty: floor(local * R / G_s).
    std::vector<std::vector<int>> home_rail{};
    /// [N][R] true where the rail is up; empty: all are.
    std::vector<std::vector<bool>> live{};
    /// [N][N][R] chi(s,d): egress rail at s -> ingress rail at d; empty: the identity.
    /// Only s < d is read: chi(d,s) is its inverse.
    std::vector<std::vector<std::vector<int>>> ingress{};
  };

  /// Errors: InvalidArgument (field names the option) for an empty node, a rail out of range, a
  /// chi that is no bijection; LinkDown when some pair of nodes has no eligible rail.
  static Result<Topology> create(Options options);
  /// N nodes of G ranks each with R rails, everything by default.
  static Result<Topology> uniform(int nodes, int ranks_per_node, int rails);

  [[nodiscard]] int nodes() const { return static_cast<int>(first_rank_.size()) - 1; }
  [[nodiscard]] int rails() const { return rails_; }
  [[nodiscard]] int ranks() const { return first_rank_.back(); }
  [[nodiscard]] int ranks_at(NodeId node) const {
    return first_rank_[node.index() + 1] - first_rank_[node.index()];
  }
  [[nodiscard]] RankId first_rank(NodeId node) const { return RankId(first_rank_[node.index()]); }
  [[nodiscard]] RankId rank_at(NodeId node, int local) const {
    return RankId(first_rank_[node.index()] + local);
  }
  [[nodiscard]] NodeId node_of(RankId rank) const { return node_of_[rank.index()]; }
  [[nodiscard]] int local_of(RankId rank) const {
    return rank.value - first_rank(node_of(rank)).value;
  }
  [[nodiscard]] RailId home_rail(RankId rank) const { return home_rail_[rank.index()]; }
  /// Ranks of `node` that send and receive on `rail`, ascending; never empty: where no rank has
  /// it as home rail, rank floor(rail * G / R) drives it.
  [[nodiscard]] std::span<const RankId> drivers(NodeId node, RailId rail) const;
  [[nodiscard]] bool live(NodeId node, RailId rail) const;
  /// chi(source, destination)(egress).
  [[nodiscard]] RailId ingress(NodeId source, NodeId destination, RailId egress) const;
  /// Egress rails live at `source` whose ingress rail is live at `destination`, ascending.
  /// For a node and itself: its live rails.
  [[nodiscard]] std::span<const RailId> eligible(NodeId source, NodeId destination) const;
  /// A hash of everything above; equal shapes have equal fingerprints on every machine.
  [[nodiscard]] std::uint64_t fingerprint() const;

 private:
  Topology() = default;
  void number_ranks(const Options& options);
  void assign_drivers();
  void wire(const Options& options);
  Status find_eligible();
  int rails_ = 0;
  std::vector<int> first_rank_;                // [N+1]
  std::vector<NodeId> node_of_;                // [P]
  std::vector<RailId> home_rail_;              // [P]
  std::vector<std::vector<RankId>> drivers_;   // [N*R]
  std::vector<bool> live_;                     // [N*R]
  std::vector<RailId> ingress_;                // [N*N*R], empty: identity
  std::vector<std::vector<RailId>> eligible_;  // [N*N]
};

}  // namespace railwave
