// However a run ends, no process, namespace or interface of it is left.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <poll.h>
#include <sys/syscall.h>

#include "cli/command.hpp"
#include "testbed/emulated_cluster.hpp"

namespace railwave::cli {
namespace {

std::set<std::string> interfaces() {
  std::set<std::string> out;
  auto* list = ::if_nameindex();
  for (auto* at = list; at != nullptr && at->if_index != 0; ++at) out.insert(at->if_name);
  ::if_freenameindex(list);
  return out;
}

std::vector<pid_t> all_processes() {
  std::vector<pid_t> out;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const auto name = entry.path().filename().string();
    if (std::all_of(name.begin(), name.end(), ::isdigit)) out.push_back(std::stoi(name));
  }
  return out;
}

/// "NAME=value" entries, each ended by a zero byte.
std::string environment_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/environ");
  return std::string((std::istreambuf_iterator<char>(file)), {});
}

/// Every process whose environment holds `mark`: launcher, guardian, switch and ranks.
std::vector<pid_t> marked_processes(const std::string& mark) {
  std::vector<pid_t> out;
  for (const pid_t pid : all_processes()) {
    if (environment_of(pid).find(mark) != std::string::npos) out.push_back(pid);
  }
  return out;
}

std::set<std::string> network_namespaces(const std::vector<pid_t>& processes) {
  std::set<std::string> out;
  for (const pid_t pid : processes) {
    std::error_code gone;
    const auto link =
        std::filesystem::read_symlink("/proc/" + std::to_string(pid) + "/ns/net", gone);
    if (!gone) out.insert(link.string());
  }
  return out;
}

/// A running emulation of 2 x 2 ranks, and what there is of it.
class Emulation {
 public:
  explicit Emulation(const std::string& script)
      : mark_("RAILWAVE_TEST_MARK=" + std::to_string(::getpid()) + "." +
              std::to_string(Clock::now().time_since_epoch().count())),
        interfaces_(interfaces()),
        command_({RAILWAVE_COMMAND, "emulate", "--nodes", "2", "--ranks-per-node", "2", "--rails",
                  "2", "--", "sh", "-c", "sleep 1000 & echo up; " + script},
                 [this] { ::putenv(mark_.data()); }) {
    started_ = command_.read_lines(4) == "up\nup\nup\nup\n";
    for (const pid_t pid : marked_processes(mark_)) {
      processes_.emplace_back(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    }
    auto inside = network_namespaces(marked_processes(mark_));
    for (const auto& own : network_namespaces({::getpid()})) inside.erase(own);
    namespaces_ = inside;
  }
  Command& command() { return command_; }
  [[nodiscard]] bool started() const { return started_; }
  /// Launcher, guardian, switch, four ranks.
  [[nodiscard]] std::size_t processes() const { return processes_.size(); }
  /// Two nodes and the switch.
  [[nodiscard]] std::size_t namespaces() const { return namespaces_.size(); }

  /// Kills what runs as that rank.
  void kill_rank(int rank) {
    for (const pid_t pid : marked_processes(mark_)) {
      if (environment_of(pid).find('\0' + ("RANK=" + std::to_string(rank)) + '\0') !=
          std::string::npos) {
        ::kill(pid, SIGKILL);
      }
    }
  }

  /// Waits for the end of every process seen, then looks again.
  void expect_nothing_left() {
    const auto deadline = Clock::now() + std::chrono::seconds(10);
    for (const auto& process : processes_) {
      if (!process) continue;
      pollfd watched{process.get(), POLLIN, 0};
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
      ASSERT_EQ(::poll(&watched, 1, std::max(0, static_cast<int>(left.count()))), 1)
          << "a process of the cluster outlived it";
    }
    EXPECT_THAT(marked_processes(mark_), testing::IsEmpty());
    for (const auto& space : network_namespaces(all_processes())) {
      EXPECT_EQ(namespaces_.count(space), 0U) << space;
    }
    EXPECT_EQ(interfaces(), interfaces_);
  }

 private:
  std::string mark_;
  std::set<std::string> interfaces_;
  Command command_;
  bool started_ = false;
  std::vector<UniqueFd> processes_;
  std::set<std::string> namespaces_;
};

class EmulateCleanup : public testing::Test {
 protected:
  void SetUp() override {
    RAILWAVE_START_CLUSTER(needed, testbed::uniform_cluster(1, 1, 1));
    (void)needed;
  }
  /// Sends a signal to the launcher of a running emulation and returns its exit status.
  static int signalled(int signal) {
    Emulation emulation("wait");
    EXPECT_TRUE(emulation.started());
    EXPECT_GE(emulation.processes(), 7U);
    EXPECT_EQ(emulation.namespaces(), 3U);
    ::kill(emulation.command().pid(), signal);
    const int status = emulation.command().wait();
    emulation.expect_nothing_left();
    return status;
  }
};

TEST_F(EmulateCleanup, AfterSuccess) {
  Emulation emulation("exit 0");
  EXPECT_TRUE(emulation.started());
  EXPECT_EQ(emulation.command().wait(), 0);
  emulation.expect_nothing_left();
}

TEST_F(EmulateCleanup, AfterFailure) {
  Emulation emulation("wait");
  EXPECT_TRUE(emulation.started());
  emulation.kill_rank(1);
  EXPECT_EQ(emulation.command().wait(), 128 + SIGKILL);
  emulation.expect_nothing_left();
}

TEST_F(EmulateCleanup, AfterCtrlC) { EXPECT_EQ(signalled(SIGINT), 128 + SIGINT); }

TEST_F(EmulateCleanup, AfterSigterm) { EXPECT_EQ(signalled(SIGTERM), 128 + SIGTERM); }

TEST_F(EmulateCleanup, AfterHangUp) { EXPECT_EQ(signalled(SIGHUP), 128 + SIGHUP); }

TEST_F(EmulateCleanup, AfterTheLauncherIsKilled) { EXPECT_EQ(signalled(SIGKILL), 128 + SIGKILL); }

}  // namespace
}  // namespace railwave::cli
