// The shape of a cluster: nodes, ranks, rails, who drives which rail.
#pragma once

#include <algorithm>
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
    /// [N][R] how fast each rail is, for example in bytes/s; above 0, also where the rail is down.
    /// Empty: all rails are alike. Only their ratios decide anything.
    std::vector<std::vector<std::int64_t>> weights{};
  };

  /// Errors: InvalidArgument (field names the option) for an empty node, a rail out of range, a
  /// chi that is no bijection, a weight that is not above 0; LinkDown when some pair of nodes has
  /// no eligible rail.
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
  [[nodiscard]] std::span<const RailId> eligible(NodeId source, NodeId destination) const {
    return rail_sets_[eligible_[source.index() * static_cast<std::size_t>(nodes()) +
                                destination.index()]];
  }
  /// The weight of a rail of one node, all weights divided by weight_unit(); 1 where all are alike.
  [[nodiscard]] std::int64_t weight(NodeId node, RailId rail) const {
    return weight_.empty()
               ? 1
               : weight_[node.index() * static_cast<std::size_t>(rails_) + rail.index()];
  }
  /// The weight of an egress rail for one slice: the slower of its two ends.
  [[nodiscard]] std::int64_t weight(NodePair slice, RailId egress) const {
    if (weight_.empty()) return 1;
    return std::min(weight(slice.source, egress),
                    weight(slice.destination, ingress(slice.source, slice.destination, egress)));
  }
  /// The greatest common divisor of the weights as given, 1 when none were: the rate of a rail of
  /// weight 1 when weights are rates.
  [[nodiscard]] std::int64_t weight_unit() const { return weight_unit_; }
  /// Some slice of the source has eligible rails of different weights.
  [[nodiscard]] bool has_uneven_rails(NodeId source) const {
    return !uneven_.empty() && uneven_[source.index()];
  }
  /// A hash of everything above; equal shapes have equal fingerprints on every machine.
  [[nodiscard]] std::uint64_t fingerprint() const;

 private:
  Topology() = default;
  void number_ranks(const Options& options);
  void assign_drivers();
  void wire(const Options& options);
  void weigh(const Options& options);
  [[nodiscard]] bool is_uneven(NodePair slice) const;
  [[nodiscard]] std::vector<RailId> find_eligible(NodePair pair) const;
  Status find_all_eligible();
  int rails_ = 0;
  std::vector<int> first_rank_;                 // [N+1]
  std::vector<NodeId> node_of_;                 // [P]
  std::vector<RailId> home_rail_;               // [P]
  std::vector<RankId> drivers_;                 // of every (node, rail), one after the other
  std::vector<std::uint32_t> first_driver_;     // [N*R+1] where those of a (node, rail) begin
  std::vector<bool> live_;                      // [N*R]
  std::vector<RailId> ingress_;                 // [N*N*R], empty: identity
  std::vector<std::vector<RailId>> rail_sets_;  // the different eligible sets
  std::vector<std::uint32_t> eligible_;         // [N*N] which of them
  std::int64_t weight_unit_ = 1;
  std::vector<std::int64_t> weight_;  // [N*R], empty: all 1
  std::vector<bool> uneven_;          // [N], empty: none
};

}  // namespace railwave
