#include "guardian.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fail.hpp"
#include "message.hpp"
#include "namespaces.hpp"

namespace railwave::testbed {
namespace {

struct Ends {
  UniqueFd first;
  UniqueFd second;
};

Result<Ends> socket_ends() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return fail(system_failure("make a socket pair", errno));
  }
  return Ends{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

Result<Ends> pipe_ends() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return fail(system_failure("make a pipe", errno));
  return Ends{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

/// Descriptors of the guardian and of process 1. The owner's other descriptors must not stay open
/// in them: somebody would wait for their end.
struct Inherited {
  UniqueFd runs;
  UniqueFd requests;
  UniqueFd lifeline;
};

/// Moves the three to 3, 4 and 5 and closes everything above.
Inherited keep_only(int runs, int requests, int lifeline) {
  constexpr int kFirst = 3;
  std::array<int, 3> high{};
  const std::array<int, 3> wanted{runs, requests, lifeline};
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    high[i] = ::fcntl(wanted[i], F_DUPFD_CLOEXEC, kFirst + 3);
  }
  for (std::size_t i = 0; i < high.size(); ++i) {
    ::dup3(high[i], kFirst + static_cast<int>(i), O_CLOEXEC);
  }
  ::syscall(SYS_close_range, kFirst + 3, ~0U, 0);
  return {UniqueFd(kFirst), UniqueFd(kFirst + 1), UniqueFd(kFirst + 2)};
}

/// Process 1. It begins once its user is mapped, which the closing of `mapped` tells.
[[noreturn]] void be_process_one(const ClusterSpec& spec, Inherited inherited, Ends mapped) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  mapped.second = UniqueFd();
  char go = 0;
  const bool told = ::read(mapped.first.get(), &go, 1) == 1;
  mapped.first = UniqueFd();
  inherited.lifeline = UniqueFd();
  if (told) {
    serve_as_switch(spec, {std::move(inherited.runs), std::move(inherited.requests)});
  }
  ::_exit(0);
}

/// Until the owner lets go of the lifeline or process 1 ends.
void watch_over(pid_t child, int lifeline) {
  const UniqueFd ended(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  std::array<pollfd, 2> watched{{{lifeline, POLLIN, 0}, {ended.get(), POLLIN, 0}}};
  while (::poll(watched.data(), watched.size(), -1) < 0 && errno == EINTR) {
  }
  ::kill(child, SIGKILL);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

[[noreturn]] void be_guardian(const ClusterSpec& spec, pid_t owner, Inherited inherited) {
  // Ctrl-C and hang-up reach the owner, who decides; a session of our own keeps them away.
  ::setsid();
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != owner) ::_exit(1);
  const auto mapped_ends = pipe_ends();
  const auto child = mapped_ends ? clone_into_cluster() : fail(mapped_ends.error());
  if (child && *child == 0) {
    be_process_one(spec, std::move(inherited), std::move(const_cast<Ends&>(*mapped_ends)));
  }
  const auto mapped = child ? map_own_user(*child) : fail(child.error());
  if (!mapped) {
    (void)send_message(inherited.runs.get(), answer(mapped));
    ::_exit(1);
  }
  (void)!::write(mapped_ends->second.get(), "", 1);
  inherited.runs = UniqueFd();
  inherited.requests = UniqueFd();
  watch_over(*child, inherited.lifeline.get());
  ::_exit(0);
}

}  // namespace

Result<Guardian> start_guardian(const ClusterSpec& spec) {
  auto runs = socket_ends();
  auto requests = socket_ends();
  auto lifeline = pipe_ends();
  if (!runs || !requests || !lifeline) {
    return fail(ErrorCode::ResourceExhausted, "descriptors", "no descriptor is left");
  }
  const pid_t owner = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return fail(system_failure("start the cluster's guardian", errno));
  if (pid == 0) {
    be_guardian(spec, owner,
                keep_only(runs->second.get(), requests->second.get(), lifeline->first.get()));
  }
  return Guardian{pid, std::move(lifeline->second), std::move(runs->first),
                  std::move(requests->first)};
}

void end_guardian(Guardian& guardian) {
  // Ending thousands of ranks takes less; beyond it only a stopped guardian is left.
  constexpr int kEndMilliseconds = 10'000;
  guardian.lifeline = UniqueFd();
  if (guardian.pid <= 0) return;
  const UniqueFd ended(static_cast<int>(::syscall(SYS_pidfd_open, guardian.pid, 0)));
  pollfd watched{ended.get(), POLLIN, 0};
  int ready = 0;
  while ((ready = ::poll(&watched, 1, kEndMilliseconds)) < 0 && errno == EINTR) {
  }
  if (ready == 0) ::kill(guardian.pid, SIGKILL);
  while (::waitpid(guardian.pid, nullptr, 0) < 0 && errno == EINTR) {
  }
  guardian.pid = -1;
}

}  // namespace railwave::testbed
