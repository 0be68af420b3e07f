// Runs rank_transfer on a cluster.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include <sys/stat.h>

#include "testbed/scratch.hpp"

namespace railwave::testbed {

struct Transfer {
  std::vector<int> senders{};
  int receiver = 0;
  int rail = 0;  ///< the receiver's
  std::int64_t bytes = 0;
  std::chrono::milliseconds time_limit{10'000};
};

struct Transferred {
  RunOutcome outcome;
  double seconds = 0;            ///< as the receiver measured it
  double retransmission_ms = 0;  ///< the longest time-out of its connections, after the handshake
};

inline Result<Transferred> transfer(Cluster& cluster, const Transfer& what) {
  const ScratchDirectory directory;
  const CapturedOutput output;
  RunOptions options;
  options.argv = {RAILWAVE_RANK_TRANSFER, directory.file(""), std::to_string(what.bytes),
                  std::to_string(what.receiver), std::to_string(what.rail)};
  for (const int sender : what.senders) {
    ::mkfifo(directory.file("ready." + std::to_string(sender)).c_str(), 0666);
    options.argv.push_back(std::to_string(sender));
  }
  options.stdout_fd = output.descriptor();
  options.deadline = Clock::now() + what.time_limit;
  auto outcome = cluster.run(options);
  if (!outcome) return tl::unexpected<Error>(outcome.error());
  Transferred done{*std::move(outcome)};
  std::istringstream(output.text()) >> done.seconds >> done.retransmission_ms;
  return done;
}

}  // namespace railwave::testbed
