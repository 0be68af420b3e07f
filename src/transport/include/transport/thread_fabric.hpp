// The node fabric between threads of one process, for tests: one mapping, the same contract.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <railwave/error.hpp>

#include "transport/node_fabric.hpp"

namespace railwave::transport {

/// One fabric per entry of `segment_bytes`, sharing memory. Destroying one is an end in peace, as
/// in every fabric. Errors: InvalidArgument for a negative entry or none; ResourceExhausted.
Result<std::vector<std::unique_ptr<NodeFabric>>> make_thread_fabrics(
    const std::vector<std::int64_t>& segment_bytes);

/// Destroys a fabric of make_thread_fabrics() as if its process had been killed: the peers' poll()
/// says PeerFailed.
void end_abruptly(std::unique_ptr<NodeFabric> fabric);

}  // namespace railwave::transport
