// The node fabric between threads of one process, for tests: one mapping, the same contract.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <railwave/error.hpp>

#include "transport/node_fabric.hpp"

namespace railwave::transport {

/// One fabric per entry of `segment_bytes`, sharing memory. Destroying one is that peer's death.
Result<std::vector<std::unique_ptr<NodeFabric>>> make_thread_fabrics(
    const std::vector<std::int64_t>& segment_bytes);

}  // namespace railwave::transport
