// Process 1 of a cluster: owns the switch's namespaces, starts ranks, answers its owner.
#pragma once

#include "base/event_loop.hpp"
#include "testbed/cluster.hpp"

namespace railwave::testbed {

/// The switch process's ends of its connections to the owner.
struct SwitchSockets {
  UniqueFd runs;      ///< run and cancel
  UniqueFd requests;  ///< everything else
};

/// Builds the network, answers with one Result<void> on `runs`, then serves until the owner closes
/// a connection. Then no other process of the cluster is left.
/// Threads: the only thread of process 1.
void serve_as_switch(const ClusterSpec& spec, SwitchSockets sockets);

}  // namespace railwave::testbed
