// A rail that misbehaves on purpose: wraps any other.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "transport/rail.hpp"

namespace railwave::transport {

struct FaultOptions {
  std::uint64_t seed = 1;
  std::chrono::microseconds max_delay{0};  ///< each frame waits a random time in [0, max_delay]
  bool reorder = false;                    ///< frames leave in the order of their random times
  double duplicate = 0;                    ///< chance that a Records frame is sent twice
};

/// Delays, reorders and repeats outgoing frames. Sleeps on a timer descriptor, never spins.
std::unique_ptr<Rail> with_faults(std::unique_ptr<Rail> rail, const FaultOptions& options);

}  // namespace railwave::transport
