// What `railwave select` was asked to do.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <railwave/error.hpp>
#include <railwave/topology.hpp>

#include "model/descriptors.hpp"
#include "replay_options.hpp"
#include "select/cost_table.hpp"

namespace CLI {
class App;
}

namespace railwave::cli {

/// As typed. One phase by its figures, or the layers of a trace.
struct SelectOptions {
  std::string table{};  ///< empty: the shipped one
  bool force = false;
  std::string cluster{};       ///< a cluster.toml instead of the next three
  std::optional<int> nodes{};  ///< absent: the table's
  std::optional<int> ranks_per_node{};
  std::optional<int> rails{};
  std::string bytes{};
  std::string rail_skew{};
  std::string concentration{};
  ReplayOptions replay{};  ///< trace and how it is laid on the cluster
  int rejected = 3;
  std::string json{};
};

void add_select_options(CLI::App& verb, SelectOptions& options);

/// The cluster that was described; what was not comes from the table's.
/// Errors: InvalidArgument naming the option, or the file, line and column.
Result<Topology> topology_from(const SelectOptions& options, const select::ClusterShape& table);

/// A phase to choose a path for.
struct SelectPhase {
  std::optional<int> layer{};  ///< of the trace; absent: the figures that were typed
  Descriptors descriptors{};
};

/// Errors: InvalidArgument naming the option, or those of the trace.
Result<std::vector<SelectPhase>> phases_from(const SelectOptions& options,
                                             const Topology& topology);

}  // namespace railwave::cli
