// The memory that the paper's RailBalance, and replicated experts instead of it, take on a rank
// (paper App. A.5). What this library reserves is another formula: workspace_size() of
// <railwave/communicator.hpp>, docs/workspace.md.
#pragma once

#include <cstdint>

#include <railwave/error.hpp>

namespace railwave::plan {

/// Eq. 13; the defaults are the paper's set-up. Every field is at least 0, nodes and ranks_per_node
/// at least 1.
struct BalanceShape {
  std::int64_t nodes = 4;                              ///< D
  std::int64_t ranks_per_node = 8;                     ///< G
  std::int64_t tokens_per_rank = 50'176;               ///< T
  std::int64_t channels = 1'024;                       ///< C_max
  std::int64_t dispatch_record_bytes = 2 * 7168 + 32;  ///< s_d
  std::int64_t return_record_bytes = 2 * 7168 + 32;    ///< s_c
};

/// (D - 1)(T + C)(s_d + s_c) + 4 (32 C + 2 C D G + D G), bytes of one rank.
/// Errors: InvalidArgument{the field} out of range, {workspace} when the size leaves 64 bits.
/// Source: paper eq. 13.
Result<std::int64_t> balance_workspace(const BalanceShape& shape);

/// Eq. 14; the defaults are the experts of Table 7. Every field is at least 0.
struct ReplicaShape {
  std::int64_t layers = 58;                      ///< L
  std::int64_t replicas = 1;                     ///< r, more experts on each rank and layer
  std::int64_t parameters = 3LL * 7168 * 2'048;  ///< P of one expert
  std::int64_t weight_bytes = 2;                 ///< w
  std::int64_t gradient_bytes = 4;               ///< g of a replica's gradient, while it lives
};

/// Bytes of one rank for replicated experts.
struct ReplicaStorage {
  std::int64_t inference = 0;        ///< L r P w
  std::int64_t train_one_layer = 0;  ///< and the gradients of one layer's replicas, r P g
  std::int64_t train_all = 0;        ///< and those of all layers, L r P g
};

/// Errors: InvalidArgument{the field} below 0, {workspace} when a size leaves 64 bits.
/// Source: paper eq. 14 and Table 7.
Result<ReplicaStorage> replica_storage(const ReplicaShape& shape);

}  // namespace railwave::plan
