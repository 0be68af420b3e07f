// What `railwave workspace` computes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <railwave/communicator.hpp>
#include <railwave/error.hpp>

#include "plan/workspace.hpp"

namespace railwave::cli {

/// As typed; the defaults are the paper's set-up.
struct WorkspaceOptions {
  int nodes = 4;
  int ranks_per_node = 8;
  int rails = 8;
  std::int64_t tokens = 50'176;
  std::int64_t hidden = 7'168;
  std::string dtype = "bf16";
  int top_k = 8;
  std::int64_t max_recv_rows = 0;
  std::int64_t channels = 1'024;
  std::optional<std::int64_t> dispatch_record{};
  std::optional<std::int64_t> return_record{};
  std::vector<std::int64_t> replicas{1, 2, 4};
  std::int64_t layers = 58;
  std::int64_t intermediate = 2'048;
  std::int64_t weight_bytes = 2;
  std::int64_t gradient_bytes = 4;
  std::string chunk = "64kb";
  int slots = 4;
  int phases = 1;
  std::string json{};
};

/// Bytes of one rank.
struct WorkspaceSizes {
  plan::BalanceShape shape{};
  std::int64_t balance = 0;                      ///< eq. 13
  std::int64_t parameters = 0;                   ///< of one expert
  std::vector<plan::ReplicaStorage> replicas{};  ///< eq. 14, one per --replicas
  WorkspaceSize library{};                       ///< docs/workspace.md
};

/// Errors: InvalidArgument naming the option, the formula's field or, when a size leaves 64 bits,
/// workspace.
Result<WorkspaceSizes> workspace_sizes(const WorkspaceOptions& options);

}  // namespace railwave::cli
