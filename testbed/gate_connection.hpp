// One TCP connection between two nodes along one rail, both ends in this process.
#pragma once

#include <chrono>

#include "network.hpp"
#include "testbed/gate.hpp"

namespace railwave::testbed {

struct GateConnection {
  UniqueFd sender;    ///< non-blocking, in the source node
  UniqueFd receiver;  ///< non-blocking, in the destination node
};

/// Errors: Timeout when the rail carries nothing for 5 s.
Result<GateConnection> connect_along(Network& network, const ClusterSpec& spec,
                                     const GateFlow& flow);

/// Discards what is still queued instead of sending it during the next measurement.
void abort_connection(GateConnection& connection);

/// Bit/s: the slower end's nominal rate.
std::int64_t nominal_rate(const ClusterSpec& spec, const GateFlow& flow);

/// Seconds from the first byte sent to the last one received.
/// Errors: Timeout naming the rail.
Result<double> time_lone_transfer(const GateConnection& connection, std::int64_t bytes,
                                  Deadline deadline);

}  // namespace railwave::testbed
