// The options that describe an emulated cluster, for every verb that needs one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <railwave/error.hpp>

#include "testbed/cluster_spec.hpp"

namespace CLI {
class App;
}

namespace railwave::cli {

/// As typed. Either `cluster` or the others.
struct ClusterOptions {
  std::string cluster{};
  int nodes = 4;
  int ranks_per_node = 8;
  int rails = 8;
  std::string rate = "50mbit";
  std::string buffer = "64kb";
  std::string nic_queue = "4mb";
  std::string burst = "12kb";
  int mtu = 9000;
  std::string congestion = "cubic";
  std::string rto_min = "5ms";
};

/// Adds --cluster, --nodes, ... --rto-min. REQUIRES: `options` outlives the parsing.
void add_cluster_options(CLI::App& verb, ClusterOptions& options);

/// Errors: InvalidArgument naming the option, or file, line and column.
Result<testbed::ClusterSpec> cluster_from(const ClusterOptions& options);

}  // namespace railwave::cli
