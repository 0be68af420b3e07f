// How ranks find each other before there are rails: one all-gather over the control network.
#pragma once

#include <cstddef>
#include <cstdint>
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
  /// order. Errors: Timeout naming the missing ranks; PeerFailed.
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
};

/// Rank 0 listens on identity.address:port (only there); the others connect, say who they are and
/// keep the connection. Strangers are refused without harm: wrong bytes, a wrong job, a rank out of
/// range or taken, and connections that stay silent for 5 s.
/// Errors: Timeout naming the missing ranks; InvalidArgument for an address that can not be bound.
Result<std::unique_ptr<AllGather>> meet_over_tcp(const TcpBootstrapOptions& options);

/// For ranks that are threads of one process: `ranks` all-gathers that meet each other.
std::vector<std::unique_ptr<AllGather>> make_thread_all_gathers(int ranks);

}  // namespace railwave::comm
