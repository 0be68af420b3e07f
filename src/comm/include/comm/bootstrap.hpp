// How ranks find each other before there are rails: one all-gather over the control network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <railwave/error.hpp>
#include <railwave/ids.hpp>

#include "base/event_loop.hpp"

namespace railwave::comm {

/// An all-gather among the ranks of a group, used only while the group is made.
/// Threads: belongs to one thread.
class AllGather {
 public:
  virtual ~AllGather() = default;
  /// Every rank gives some bytes and gets every rank's, by rank. All ranks call it in the same
  /// order; their parts may differ in length, also be empty. Errors: Timeout naming the missing
  /// ranks; PeerFailed{rank} when one has ended; ProtocolViolation; InvalidArgument for a part
  /// beyond 1 GiB. After any error but the last the all-gather is over: later calls repeat it.
  virtual Result<std::vector<std::vector<std::byte>>> all_gather(std::span<const std::byte> mine,
                                                                 Deadline deadline) = 0;
};

/// Who this process is, as the launcher says.
struct LaunchIdentity {
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;
  int local_size = 1;
  int node = 0;            ///< from RAILWAVE_NODE, or GROUP_RANK / the scheduler's node number
  std::string address;     ///< MASTER_ADDR
  std::uint16_t port = 0;  ///< MASTER_PORT
  std::uint64_t job = 0;   ///< a hash of the job's name; the same on every rank
};

/// Reads torchrun's variables (RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR,
/// MASTER_PORT, optional RAILWAVE_NODE, RAILWAVE_JOB), else Open MPI's (OMPI_COMM_WORLD_*), PMI's
/// or Slurm's. Errors: InvalidArgument naming the variable that is missing or malformed.
Result<LaunchIdentity> identity_from_environment();

struct TcpBootstrapOptions {
  LaunchIdentity identity;
  std::uint32_t generation = 0;
  Deadline deadline{};  ///< for all ranks to meet
  /// Rank 0 tells of each connection that it refused, and why; may be empty. Called by the thread
  /// that meets.
  std::function<void(const std::string& why)> on_refused{};
};

/// Rank 0 listens on identity.address:port (only there); the others connect, say who they are and
/// keep the connection. Strangers are refused without harm: wrong bytes, a wrong job, a rank out of
/// range or taken, and connections that stay silent for 5 s. A group of one opens no socket.
/// The other ranks wait 1 s beyond a deadline for rank 0's word on who is late. Resolving a host
/// name takes as long as the system's resolver allows; a numeric address none.
/// Errors: Timeout naming the missing ranks; InvalidArgument for an address that can not be bound;
/// PeerRejected when rank 0 refuses this rank; ProtocolViolation when something else listens there.
Result<std::unique_ptr<AllGather>> meet_over_tcp(const TcpBootstrapOptions& options);

/// For ranks that are threads of one process: `ranks` all-gathers that meet each other.
std::vector<std::unique_ptr<AllGather>> make_thread_all_gathers(int ranks);

}  // namespace railwave::comm
