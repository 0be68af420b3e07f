#include "rank_process.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <numeric>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fail.hpp"
#include "network.hpp"

namespace railwave::testbed {
namespace {

/// Below the kernel's range of automatic ports.
constexpr int kFirstPort = 29500;
constexpr int kPorts = 1000;

std::string rail_devices(const ClusterSpec& spec, NodeId node) {
  std::vector<std::string> names;
  for (int r = 0; r < spec.rails; ++r) {
    names.push_back(spec.has_rail(node, RailId(r)) ? fmt::format("rail{}", r) : "-");
  }
  return fmt::format("{}", fmt::join(names, ","));
}

void default_signals() {
  for (int signal = 1; signal < NSIG; ++signal) (void)std::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

/// Also for uid 0, which would get everything back at exec without NOROOT.
bool drop_privileges() {
  constexpr unsigned long kBits =
      SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE;
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> none{};
  return ::prctl(PR_SET_SECUREBITS, kBits, 0, 0, 0) == 0 &&
         ::prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_capset, &header, none.data()) == 0;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (const auto& text : texts) out.push_back(const_cast<char*>(text.c_str()));
  out.push_back(nullptr);
  return out;
}

[[noreturn]] void give_up(int status, const std::string& what) {
  ::dprintf(2, "railwave: can not %s: %s\n", what.c_str(), std::strerror(errno));
  ::_exit(status);
}

[[noreturn]] void become_rank(const NamespaceSet& node, const Command& command,
                              const std::vector<std::string>& environment) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  default_signals();
  (void)::setrlimit(RLIMIT_NOFILE, &command.descriptor_limit);
  if (const auto entered = enter(node); !entered) {
    ::dprintf(2, "railwave: %s\n", entered.error().message.c_str());
    ::_exit(126);
  }
  if (::chdir(command.directory.c_str()) != 0) give_up(126, "enter " + command.directory);
  if (!drop_privileges()) give_up(126, "drop capabilities");
  const auto argv = pointers(command.argv);
  const auto envp = pointers(environment);
  // execvpe would look into our own PATH.
  ::environ = const_cast<char**>(envp.data());
  ::execvp(argv[0], argv.data());
  give_up(errno == ENOENT ? 127 : 126, "execute '" + command.argv[0] + "'");
}

}  // namespace

std::vector<std::string> rank_environment(const ClusterSpec& spec, const Command& command,
                                          NodeId node, int local) {
  const auto before = spec.ranks_per_node.begin();
  const int rank = std::accumulate(before, before + node.value, 0) + local;
  const auto master = control_address(NodeId(0));
  const std::vector<std::pair<std::string, std::string>> own{
      {"RANK", std::to_string(rank)},
      {"WORLD_SIZE", std::to_string(spec.ranks())},
      {"LOCAL_RANK", std::to_string(local)},
      {"LOCAL_WORLD_SIZE", std::to_string(spec.ranks_per_node[node.index()])},
      {"MASTER_ADDR", fmt::format("{}", fmt::join(master, "."))},
      {"MASTER_PORT", std::to_string(kFirstPort + command.run % kPorts)},
      {"RAILWAVE_NODE", std::to_string(node.value)},
      {"RAILWAVE_JOB", command.job},
      {"RAILWAVE_RAILS", rail_devices(spec, node)},
      {"RAILWAVE_CLUSTER", format_cluster(spec)}};
  std::vector<std::string> out;
  for (const auto& entry : command.environment) {
    const auto name = entry.substr(0, entry.find('='));
    const bool replaced = std::any_of(own.begin(), own.end(),
                                      [&](const auto& variable) { return variable.first == name; });
    if (!replaced) out.push_back(entry);
  }
  for (const auto& [name, value] : own) out.push_back(name + "=" + value);
  return out;
}

Result<RankProcess> start_rank(const NamespaceSet& node, const Command& command,
                               const std::vector<std::string>& environment) {
  std::array<int, 2> output{};
  std::array<int, 2> errors{};
  if (::pipe2(output.data(), O_CLOEXEC) != 0) return fail(system_failure("make a pipe", errno));
  UniqueFd output_end(output[1]);
  RankProcess rank{-1, {}, UniqueFd(output[0]), {}};
  if (::pipe2(errors.data(), O_CLOEXEC) != 0) return fail(system_failure("make a pipe", errno));
  UniqueFd errors_end(errors[1]);
  rank.errors = UniqueFd(errors[0]);
  rank.pid = ::fork();
  if (rank.pid < 0) return fail(system_failure("start a rank", errno));
  if (rank.pid == 0) {
    const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (::dup2(nothing, 0) < 0 || ::dup2(output[1], 1) < 0 || ::dup2(errors[1], 2) < 0) {
      ::_exit(126);
    }
    become_rank(node, command, environment);
  }
  rank.exited = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, rank.pid, 0)));
  if (!rank.exited) return fail(system_failure("watch a rank", errno));
  return rank;
}

}  // namespace railwave::testbed
