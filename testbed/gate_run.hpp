// The gate's traffic, sent from inside the switch process.
#pragma once

#include "network.hpp"
#include "testbed/gate.hpp"

namespace railwave::testbed {

/// On every bridge its nodes form a ring, each sending to the next for about a second, all bridges
/// at once; then on each bridge a lone 256 KiB transfer.
/// Errors: Timeout when a rail carries nothing; ResourceExhausted.
Result<GateResult> run_gate(Network& network, const ClusterSpec& spec);

}  // namespace railwave::testbed
