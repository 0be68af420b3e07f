// An emulated multi-rail cluster: real processes, real sockets, rate-limited rails, finite buffers.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <railwave/error.hpp>
#include <railwave/ids.hpp>

#include "base/event_loop.hpp"
#include "testbed/cluster_spec.hpp"
#include "testbed/counters.hpp"
#include "testbed/gate.hpp"

namespace railwave::testbed {

/// One command, started once per rank of the cluster.
struct RunOptions {
  std::vector<std::string> argv{};           ///< argv[0] is looked up in PATH
  std::map<std::string, std::string> env{};  ///< added to the caller's environment
  bool tag_output = false;                   ///< each line of output begins with "[rank] "
  Deadline deadline{};                       ///< unset: 60 s from the call
  int stdout_fd = 1;                         ///< where the ranks' output goes, line by line
  int stderr_fd = 2;
  int cancel_fd = -1;  ///< once it is readable the ranks are ended; not read from
};

/// How a run ended.
struct RunOutcome {
  /// 0; the status of the rank that failed first; 128 + n when signal n killed it; 124 when the
  /// deadline passed; 130 when cancelled.
  int exit_status = 0;
  RankId failed_rank{-1};  ///< the rank that failed first, -1 if none did
  bool timed_out = false;
  bool cancelled = false;
  std::string message{};        ///< empty, or a sentence naming the rank and what happened to it
  std::vector<int> statuses{};  ///< [P] each rank's own, as exit_status
  double seconds = 0;           ///< from the first rank's start to the last rank's end
  Counters traffic{};           ///< of this run
};

enum class Direction : std::uint8_t { egress, ingress };

/// A running cluster. It lives in namespaces of its own, so nothing of it is seen outside, and all
/// of it goes with this object or with the process, however that ends.
/// Works for an ordinary user and for root.
/// Threads: run() belongs to one thread at a time; everything else may be called from any thread,
/// also during a run. REQUIRES: the thread that calls start() outlives the cluster.
class Cluster {
 public:
  /// Builds the cluster (about 50 ms for 4 nodes x 8 rails).
  /// Errors: InvalidArgument from validate() and check_emulation(); Unsupported when this system
  /// forbids or lacks something (the sentence says what to enable); Timeout after 60 s.
  static Result<Cluster> start(const ClusterSpec& spec);

  Cluster(Cluster&&) noexcept;
  Cluster& operator=(Cluster&&) noexcept;
  /// Ends every process of the cluster and waits until they are gone.
  ~Cluster();

  /// Runs one command on all ranks and waits for them. Ranks get torchrun's variables and ours
  /// (docs/formats/cluster.md), an empty standard input, the caller's working directory and uid,
  /// and no capability. Once a rank fails, the others get SIGTERM and 2 s later SIGKILL; processes
  /// that ranks leave behind are killed. A command that can not be started is status 127.
  /// Errors: InvalidArgument for an empty argv; PeerFailed when the cluster is gone.
  Result<RunOutcome> run(const RunOptions& options);

  /// Errors: PeerFailed when the cluster is gone (also below).
  Result<Counters> counters();

  /// Measures whether rails limit and the machine does not (about 2 s); sends on every rail.
  /// Errors: InvalidArgument during a run; Timeout when a rail carries nothing.
  Result<GateResult> gate();

  /// Unplugs a rail at the switch (the node loses carrier) or plugs it in again.
  /// Errors: InvalidArgument for a rail the node lacks (also below).
  Status set_rail_up(NodeId node, RailId rail, bool up);
  /// Changes a rail's rate in both directions (bit/s).
  Status set_rail_rate(NodeId node, RailId rail, std::int64_t rate);
  /// Loses every frame in one direction while the carrier stays up, or heals that.
  Status set_rail_cut(NodeId node, RailId rail, Direction direction, bool cut);
  /// Kills a node's ranks and unplugs all its interfaces, control too, until plug_node().
  Status kill_node(NodeId node);
  Status plug_node(NodeId node);
  /// Sends a signal to one rank of the current run. Errors: InvalidArgument when it is not running.
  Status signal_rank(RankId rank, int signal);

  [[nodiscard]] const ClusterSpec& spec() const;

 private:
  struct State;
  explicit Cluster(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Whether this system can emulate a cluster, by building a tiny one.
/// Errors: Unsupported with the reason and what to enable.
Status supported();

}  // namespace railwave::testbed
