// What a phase would send, before any plan, and the figures that describe it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <railwave/error.hpp>
#include <railwave/path.hpp>
#include <railwave/placement.hpp>
#include <railwave/topology.hpp>

#include "model/descriptors.hpp"

namespace railwave {

/// Counts of one phase, or of several added up. Shapes: P ranks, N nodes, E experts. With token ids
/// a row is a distinct token; where only counts are known it is a (token, slot) pair.
struct Traffic {
  std::int64_t tokens = 0;                  ///< 0: unknown
  std::vector<std::int64_t> expert_counts;  ///< [E] (token, slot) pairs
  std::vector<std::int64_t> rank_rows;      ///< [P, P] rows from rank to rank, own included
  std::vector<std::int64_t> node_rows;      ///< [P, N] rows from rank to node, own included

  /// Adds another phase of the same shapes.
  /// Errors: InvalidArgument{counts} when a sum leaves 64 bits; `this` is then of no use.
  Status add(const Traffic& more);
};

/// Figures of one phase, or of several added up. What no row gives is absent.
struct TrafficFigures {
  std::optional<double> expert_imbalance;  ///< max/mean of (token, slot) pairs over experts
  /// [R] rows that leave their node, by the home rail of the rank that sends them.
  std::vector<std::int64_t> source_rails;
  /// [R] (token, slot) pairs by the home rail of the rank that owns the expert, own node included.
  std::vector<std::int64_t> destination_rails;
  std::optional<double> source_imbalance;       ///< max/mean of source_rails
  std::optional<double> destination_imbalance;  ///< max/mean of destination_rails
  std::optional<double> source_share;           ///< of the busiest source rail
  std::optional<double> destination_share;      ///< of the busiest destination rail
  std::vector<std::int64_t> node_demand;        ///< [N, N] rows from node to node, 0 for its own
  Descriptors descriptors;                      ///< B, rho, kappa, phi
};

/// `submitted` as in describe(): empty for one window with every pair.
/// REQUIRES: traffic of the topology's ranks and nodes and of the placement's experts; windows as
/// describe() does. Errors: as describe(); InvalidArgument{counts} when rows leave 64 bits.
/// Source: paper sections 2.2 and 2.3.
Result<TrafficFigures> traffic_figures(const Traffic& traffic, const Topology& topology,
                                       const Placement& placement, const Windows& submitted,
                                       std::int64_t row_bytes);

}  // namespace railwave
