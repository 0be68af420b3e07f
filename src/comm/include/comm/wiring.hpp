// What a group is built from, given from outside: tests wire threads, launchers wire UCX.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <railwave/error.hpp>
#include <railwave/ids.hpp>
#include <railwave/topology.hpp>

#include "base/event_loop.hpp"
#include "comm/bootstrap.hpp"
#include "transport/node_fabric.hpp"
#include "transport/rail.hpp"

namespace railwave::comm {

/// Makers of the movers. Each is called once, by the thread that makes the group.
struct Wiring {
  std::unique_ptr<AllGather> all_gather;
  std::uint64_t job = 0;
  std::uint32_t generation = 0;
  /// Meets the ranks of the node and shares a segment of this many bytes.
  std::function<Result<std::unique_ptr<transport::NodeFabric>>(std::int64_t, Deadline)> meet_node;
  /// Opens a rail that this rank drives.
  std::function<Result<std::unique_ptr<transport::Rail>>(RailId)> open_rail;
};

/// How a process wires a group.
struct UcxWiringOptions {
  /// Tells the groups of one job apart; all ranks of a group give the same number.
  std::uint32_t generation = 0;
  /// Bounds of the socket buffers of TCP rails. Small ones keep queues short, so that what the
  /// receiver says is heard in time; 0 leaves them to the kernel.
  std::int64_t send_buffer_bytes = 256 << 10;
  std::int64_t receive_buffer_bytes = 0;
};

/// The wiring of a process under torchrun, Open MPI, PMI or Slurm: TCP bootstrap, memfd fabric, one
/// UCX rail per device. `devices` [R]; an empty name is a rail that this node lacks.
/// Errors: InvalidArgument for missing variables; Timeout naming missing ranks.
Result<Wiring> wire_over_ucx(const Topology& topology, RankId self,
                             const std::vector<std::string>& devices, Deadline deadline,
                             const UcxWiringOptions& options = {});

}  // namespace railwave::comm
