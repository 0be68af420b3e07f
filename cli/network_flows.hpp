// Who sends to whom in `railwave bench` p2p, incast and permute.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <railwave/topology.hpp>

#include "bench_options.hpp"
#include "testbed/cluster_spec.hpp"

namespace railwave::cli {

/// One sender and one receiver: the first driver of the rail at either end.
struct NetworkFlow {
  NodePair nodes;
  RailId egress;
  RailId ingress;
  std::size_t line = 0;
};

/// Flows of which the result shows the last one's end.
struct NetworkLine {
  int rail = 0;                    ///< p2p and permute: of the sender; incast: of the receiver
  std::string route;               ///< "0>1", "1,2,3>0", "all"
  int senders = 0;                 ///< of one receiver
  std::int64_t nominal_bit_s = 0;  ///< what the slowest receiver can get
};

struct NetworkPattern {
  std::vector<NetworkLine> lines;
  std::vector<NetworkFlow> flows;
  bool in_turn = false;  ///< one line after the other; else all at once
};

/// Rails that do not connect the nodes in question are left out. REQUIRES: understood options.
NetworkPattern network_pattern(const BenchOptions& options, const testbed::ClusterSpec& spec,
                               const Topology& topology);

}  // namespace railwave::cli
