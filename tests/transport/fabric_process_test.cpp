// The memfd fabric between real processes: deaths, limits, strangers, late starters.
#include <array>
#include <csignal>
#include <cstring>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "transport/memfd_fabric.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RAILWAVE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define RAILWAVE_SANITIZED 1
#endif
#endif

namespace railwave::transport {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::string fresh_key() {
  static int count = 0;
  return "process-test-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
}

/// A forked rank. Its end is waited for on its pidfd, never for longer than 20 s.
class Child {
 public:
  explicit Child(const std::function<int()>& body) : pid_(::fork()) {
    if (pid_ == 0) ::_exit(body());
    pidfd_ = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  }
  Child(Child&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), pidfd_(std::move(other.pidfd_)) {}
  ~Child() {
    if (pid_ > 0) kill_and_wait();
  }
  void kill() const { ::kill(pid_, SIGKILL); }
  void kill_and_wait() {
    kill();
    wait();
  }
  /// The exit status, or 1000 + the signal.
  int wait() {
    pollfd entry{pidfd_.get(), POLLIN, 0};
    if (::poll(&entry, 1, 20000) != 1) kill();
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }

 private:
  pid_t pid_;
  UniqueFd pidfd_;
};

bool readable(int fd, int wait_ms) {
  pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, wait_ms) == 1;
}

/// Lets some time pass where the moment itself is what is tested; nothing relies on its length.
void pass_time(int milliseconds_to_pass) { ::poll(nullptr, 0, milliseconds_to_pass); }

Result<std::unique_ptr<NodeFabric>> meet(const std::string& key, int local, int size,
                                         milliseconds limit = seconds(10)) {
  return meet_over_memfd({key, local, size, 4096, Clock::now() + limit});
}

/// Sleeps until a signal or an end, at most `limit`; the first error.
Status watch_peers(NodeFabric& fabric, milliseconds limit) {
  const Deadline until = Clock::now() + limit;
  while (Clock::now() < until) {
    const auto left = std::chrono::ceil<milliseconds>(until - Clock::now()).count();
    if (!readable(fabric.wait_fd(), static_cast<int>(left))) break;
    if (Status status = fabric.poll(); !status) return status;
  }
  return {};
}

/// Stays, whatever happens to the others, until killed.
int stay_with(const Result<std::unique_ptr<NodeFabric>>& fabric) {
  if (fabric) pass_time(20000);
  return fabric ? 0 : 1;
}

void expect_death_of(int local, const Status& status) {
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::PeerFailed);
  EXPECT_EQ(status.error().rank, local);
}

TEST(FabricProcess, AKilledPeerIsKnownSoonAndItsSegmentStays) {
  const std::string key = fresh_key();
  Child peer([&] {
    auto fabric = meet(key, 1, 2);
    if (!fabric) return 1;
    std::memset((*fabric)->own().data(), 9, 4096);
    (*fabric)->signal(0);
    return stay_with(fabric);
  });
  auto fabric = meet(key, 0, 2);
  ASSERT_TRUE(fabric) << to_string(fabric.error());
  ASSERT_TRUE(readable((*fabric)->wait_fd(), 5000));
  ASSERT_TRUE((*fabric)->poll());
  EXPECT_TRUE((*fabric)->poll());
  peer.kill();
  const auto start = Clock::now();
  expect_death_of(1, watch_peers(**fabric, seconds(10)));
  EXPECT_LT(Clock::now() - start, seconds(2));
  expect_death_of(1, (*fabric)->poll());
  EXPECT_FALSE(readable((*fabric)->wait_fd(), 0)) << "whoever goes on sleeping here would spin";
  EXPECT_THAT((*fabric)->segment(1), testing::Each(std::byte{9}));
  (*fabric)->signal(0);
  EXPECT_TRUE(readable((*fabric)->wait_fd(), 5000)) << "signals still come";
}

TEST(FabricProcess, ExitWithoutDestroyIsADeathAndDestroyIsNot) {
  for (const bool orderly : {false, true}) {
    const std::string key = fresh_key();
    Child peer([&] {
      auto fabric = meet(key, 1, 2);
      if (!fabric) return 1;
      if (!orderly) ::_exit(0);
      fabric->reset();
      return 0;
    });
    auto fabric = meet(key, 0, 2);
    ASSERT_TRUE(fabric);
    EXPECT_EQ(peer.wait(), 0);
    const Status status = watch_peers(**fabric, milliseconds(orderly ? 100 : 5000));
    if (orderly) {
      EXPECT_TRUE(status);
    } else {
      expect_death_of(1, status);
    }
  }
}

TEST(FabricProcess, TheLowestDeadPeerIsNamed) {
  const std::string key = fresh_key();
  std::vector<Child> peers;
  for (const int local : {0, 2, 3}) {
    peers.emplace_back([&, local] {
      auto fabric = meet(key, local, 4);
      return stay_with(fabric);
    });
  }
  auto fabric = meet(key, 1, 4);
  ASSERT_TRUE(fabric);
  peers[2].kill_and_wait();
  expect_death_of(3, watch_peers(**fabric, seconds(5)));
  peers[0].kill_and_wait();
  ASSERT_TRUE(readable((*fabric)->wait_fd(), 5000));
  expect_death_of(0, (*fabric)->poll());
}

TEST(FabricProcess, EitherSideMayComeLate) {
  for (const int late : {0, 1}) {
    const std::string key = fresh_key();
    std::array<int, 2> gate{};
    ASSERT_EQ(::pipe2(gate.data(), O_CLOEXEC), 0);
    Child peer([&] {
      char go = 0;
      return ::read(gate[0], &go, 1) == 1 && meet(key, late, 2) ? 0 : 1;
    });
    Child opener([&] {
      pass_time(300);
      return ::write(gate[1], "g", 1) == 1 ? 0 : 1;
    });
    EXPECT_TRUE(meet(key, 1 - late, 2));
    EXPECT_EQ(peer.wait(), 0);
    EXPECT_EQ(opener.wait(), 0);
    ::close(gate[0]);
    ::close(gate[1]);
  }
}

TEST(FabricProcess, StartsAgainAfterBeingKilledAtAnyMoment) {
  std::mt19937 random(7);
  const std::string key = fresh_key();
  for (int round = 0; round < 20; ++round) {
    std::vector<Child> ranks;
    for (int local = 0; local < 3; ++local) {
      ranks.emplace_back([&, local] {
        auto fabric = meet(key, local, 3);
        return stay_with(fabric);
      });
    }
    pass_time(static_cast<int>(random() % 20));
    for (Child& rank : ranks) rank.kill();
    for (Child& rank : ranks) rank.wait();
  }
  Child peer([&] { return meet(key, 1, 2) ? 0 : 1; });
  EXPECT_TRUE(meet(key, 0, 2));
  EXPECT_EQ(peer.wait(), 0);
}

/// The abstract names under which fabrics are met just now.
std::vector<std::string> meeting_names() {
  std::vector<std::string> names;
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);) {
    if (const auto at = line.find("@railwave-"); at != std::string::npos) {
      names.push_back(line.substr(at + 1));
    }
  }
  return names;
}

UniqueFd stranger_at(const std::string& name) {
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0) return {};
  return socket;
}

TEST(FabricProcess, StrangersAreShownTheDoorAndTheRanksStillMeet) {
  const std::string key = fresh_key();
  Child host([&] {
    auto fabric = meet(key, 0, 2);
    return stay_with(fabric);
  });
  std::vector<std::string> names;
  for (int i = 0; names.empty() && i < 500; ++i) {
    pass_time(10);
    names = meeting_names();
  }
  ASSERT_FALSE(names.empty());
  std::vector<UniqueFd> silent;
  std::vector<UniqueFd> noisy;
  for (int i = 0; i < 25; ++i) {
    for (const std::string& name : names) {
      static_cast<void>(stranger_at(name));
      silent.push_back(stranger_at(name));
      noisy.push_back(stranger_at(name));
      if (noisy.back()) ::send(noisy.back().get(), "01234567", 8, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
  }
  const auto start = Clock::now();
  auto fabric = meet(key, 1, 2);
  ASSERT_TRUE(fabric) << to_string(fabric.error());
  EXPECT_LT(Clock::now() - start, seconds(2));
  for (const UniqueFd& socket : noisy) {
    EXPECT_TRUE(!socket || readable(socket.get(), 5000)) << "a wrong hello is closed";
  }
  EXPECT_TRUE((*fabric)->poll());
}

/// Runs in a child, where limits do not touch the other tests; the exit status says what differed.
int meet_under_limit(__rlimit_resource_t resource, rlim_t limit, std::int64_t bytes) {
  const rlimit value{limit, limit};
  if (::setrlimit(resource, &value) != 0) return 2;
  const auto met = meet_over_memfd({"limit", 0, 1, bytes, Clock::now() + seconds(5)});
  if (met) return 3;
  if (met.error().code != ErrorCode::ResourceExhausted) return 4;
  if (met.error().need < bytes) return 5;
  return met.error().have >= 0 && met.error().have < met.error().need ? 0 : 6;
}

TEST(FabricProcess, TooLittleRoomForFilesIsATypedError) {
  EXPECT_EQ(Child([] { return meet_under_limit(RLIMIT_FSIZE, 1 << 20, 2 << 20); }).wait(), 0);
  EXPECT_EQ(Child([] { return meet_under_limit(RLIMIT_FSIZE, 1 << 20, 1 << 20); }).wait(), 3);
}

TEST(FabricProcess, TooLittleAddressSpaceIsATypedError) {
#ifdef RAILWAVE_SANITIZED
  GTEST_SKIP() << "the sanitizer's own memory does not fit below any such limit";
#endif
  EXPECT_EQ(Child([] { return meet_under_limit(RLIMIT_AS, 1 << 30, 1 << 30); }).wait(), 0);
  EXPECT_EQ(Child([] { return meet_under_limit(RLIMIT_AS, 1 << 30, 1 << 20); }).wait(), 3);
}

TEST(FabricProcess, MoreThanTheMachineHasIsATypedError) {
  EXPECT_EQ(Child([] { return meet_under_limit(RLIMIT_CORE, 0, std::int64_t{1} << 45); }).wait(),
            0);
}

TEST(FabricProcess, WritingToAPeersSegmentEndsTheWriter) {
  const std::string key = fresh_key();
  Child peer([&] {
    auto fabric = meet(key, 1, 2);
    if (!fabric) return 1;
    const_cast<std::byte&>((*fabric)->segment(0)[0]) = std::byte{1};
    return 0;
  });
  auto fabric = meet(key, 0, 2);
  ASSERT_TRUE(fabric);
  EXPECT_NE(peer.wait(), 0);
  EXPECT_EQ((*fabric)->own()[0], std::byte{0});
  expect_death_of(1, watch_peers(**fabric, seconds(5)));
}

}  // namespace
}  // namespace railwave::transport
