// The node fabric between processes: sealed memfds passed over a Unix socket.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <railwave/error.hpp>

#include "base/event_loop.hpp"
#include "transport/node_fabric.hpp"

namespace railwave::transport {

struct MemfdFabricOptions {
  /// Names the meeting point: ranks with the same key, size and network namespace meet. Made from
  /// the job's id, generation and node number, never from a host name.
  std::string key;
  int local = 0;
  int size = 1;
  std::int64_t segment_bytes = 0;  ///< of this rank's segment; peers' may differ
  Deadline deadline{};             ///< for meeting all peers
};

/// Maps every peer's segment (theirs read-only) and keeps a socket to each, whose end tells of the
/// peer's death. Leaves nothing behind, however the processes end.
/// Errors: InvalidArgument for bad options; Timeout naming the missing local ranks;
/// ResourceExhausted with need and have when the memory can not be had;
/// ProtocolViolation when a peer's segment is not sealed or not of the size it said.
Result<std::unique_ptr<NodeFabric>> meet_over_memfd(const MemfdFabricOptions& options);

}  // namespace railwave::transport
