// Signals that end a run in good order.
#pragma once

#include <csignal>

#include <sys/signalfd.h>
#include <unistd.h>

#include "base/event_loop.hpp"

namespace railwave::cli {

/// Ctrl-C, SIGTERM and hang-up as a descriptor, so that the cluster is ended in good order.
/// A signal that our caller ignores stays ignored.
class EndSignals {
 public:
  EndSignals() {
    sigset_t wanted;
    sigemptyset(&wanted);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&wanted, signal);
    sigprocmask(SIG_BLOCK, &wanted, nullptr);
    descriptor_ = UniqueFd(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  [[nodiscard]] int descriptor() const { return descriptor_.get(); }
  /// The signal that came, or 0.
  int arrived() {
    signalfd_siginfo received{};
    if (::read(descriptor_.get(), &received, sizeof received) != sizeof received) return 0;
    return static_cast<int>(received.ssi_signo);
  }

 private:
  UniqueFd descriptor_;
};

}  // namespace railwave::cli
