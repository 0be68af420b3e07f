// Strangers at rank 0's door while the ranks meet.
#include <csignal>
#include <ctime>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include <sys/syscall.h>
#include <unistd.h>

#include "comm/tcp_ranks.hpp"

namespace railwave::comm {
namespace {

/// Sends the calling thread a signal every 5 ms whose handler does not restart system calls.
class SignalRain {
 public:
  SignalRain() {
    struct sigaction action {};
    action.sa_handler = [](int) {};
    ::sigaction(SIGUSR1, &action, nullptr);
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGUSR1;
    event._sigev_un._tid = static_cast<pid_t>(::syscall(SYS_gettid));
    EXPECT_EQ(::timer_create(CLOCK_MONOTONIC, &event, &timer_), 0);
    const timespec often{0, 5'000'000};
    const itimerspec value{often, often};
    EXPECT_EQ(::timer_settime(timer_, 0, &value, nullptr), 0);
  }
  ~SignalRain() { ::timer_delete(timer_); }
  SignalRain(const SignalRain&) = delete;
  SignalRain& operator=(const SignalRain&) = delete;

 private:
  timer_t timer_{};
};

/// Rank 0 in a thread, with what it refused.
class Host {
 public:
  explicit Host(int ranks)
      : port(free_port()), thread_([this, ranks] {
          const SignalRain rain;
          auto options = tcp_options(0, ranks, port);
          options.on_refused = [this](const std::string& why) {
            const std::lock_guard lock(mutex_);
            ++refused_[why];
          };
          auto met = meet_over_tcp(options);
          EXPECT_TRUE(met) << to_string(met.error());
          if (!met) return;
          const auto got = (*met)->all_gather(Bytes(1), Clock::now() + seconds(10));
          EXPECT_TRUE(got) << to_string(got.error());
        }) {}
  /// The other ranks come, and all gather once.
  void finish(int ranks) {
    in_threads(ranks - 1, [&](std::size_t index) {
      const SignalRain rain;
      auto met = meet_over_tcp(tcp_options(static_cast<int>(index) + 1, ranks, port));
      EXPECT_TRUE(met) << to_string(met.error());
      if (!met) return;
      const auto got = (*met)->all_gather(Bytes(1), Clock::now() + seconds(10));
      EXPECT_TRUE(got) << to_string(got.error());
    });
    thread_.join();
  }
  std::map<std::string, int> refused() {
    const std::lock_guard lock(mutex_);
    return refused_;
  }

  const std::uint16_t port;

 private:
  std::mutex mutex_;
  std::map<std::string, int> refused_;
  std::thread thread_;
};

/// Waits until the other end has closed; what it said before, or nothing after `wait_ms`.
std::optional<std::string> last_words(const UniqueFd& socket, int wait_ms = 7000) {
  std::string words;
  std::array<char, 512> part{};
  while (readable(socket.get(), wait_ms)) {
    const auto got = ::recv(socket.get(), part.data(), part.size(), 0);
    if (got <= 0) return words;
    words.append(part.data(), static_cast<std::size_t>(got));
  }
  return std::nullopt;
}

TEST(Strangers, AHundredOfThemChangeNothing) {
  Host host(4);
  const auto start = Clock::now();
  std::vector<UniqueFd> waiting;
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 25; ++i) {
    static_cast<void>(stranger(host.port));
    waiting.push_back(stranger(host.port));
    say(waiting.back(), std::string_view("\x01\x92\xa3\x04\x55\x06\xb7\x08", 8));
    waiting.push_back(stranger(host.port));
    say(waiting.back(), std::string_view("GET / HTTP/1.0\r\n\r\n"));
    silent.push_back(stranger(host.port));
  }
  for (const UniqueFd& socket : waiting) EXPECT_EQ(last_words(socket), "");
  EXPECT_LT(Clock::now() - start, seconds(4)) << "wrong bytes are refused at once";
  for (const UniqueFd& socket : silent) EXPECT_EQ(last_words(socket), "");
  EXPECT_LT(Clock::now() - start, seconds(8)) << "silence is borne for 5 s";
  host.finish(4);
  const std::map<std::string, int> expected{
      {"it hung up", 25}, {"what it said is no hello", 50}, {"it stayed silent", 25}};
  EXPECT_EQ(host.refused(), expected);
}

TEST(Strangers, TheRanksDoNotWaitForThem) {
  Host host(4);
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 100; ++i) silent.push_back(stranger(host.port));
  const auto start = Clock::now();
  host.finish(4);
  EXPECT_LT(Clock::now() - start, seconds(2));
}

TEST(Strangers, AHelloThatDoesNotFitIsAnsweredAndRefused) {
  Host host(4);
  const UniqueFd rank_1 = stranger(host.port);
  say(rank_1, hello_bytes(kJob, 4, 1));
  const auto refused_with = [&](const std::vector<char>& hello, const std::string& why) {
    const UniqueFd socket = stranger(host.port);
    say(socket, hello);
    const auto words = last_words(socket);
    ASSERT_TRUE(words);
    EXPECT_THAT(*words, testing::HasSubstr(why));
  };
  refused_with(hello_bytes(kJob, 4, 9), "rank 9 is not between 1 and 3");
  refused_with(hello_bytes(kJob, 4, 0), "rank 0 is not between 1 and 3");
  refused_with(hello_bytes(kJob, 4, 0xffffffff), "is not between 1 and 3");
  refused_with(hello_bytes(kJob, 4, 1), "rank 1 is here already");
  refused_with(hello_bytes(kJob + 1, 4, 2), "another job");
  refused_with(hello_bytes(kJob, 5, 2), "it counts 5 ranks, this group 4");
  refused_with(hello_bytes(kJob, 4, 2, 7), "generation 7");
  EXPECT_FALSE(readable(rank_1.get(), 0)) << "the rank that was there first stays";
  static_cast<void>(::shutdown(rank_1.get(), SHUT_RDWR));
  EXPECT_EQ(last_words(rank_1), "");
  host.finish(4);
}

TEST(Strangers, AHelloInPiecesIsUnderstood) {
  Host host(2);
  const auto hello = hello_bytes(kJob + 1, 2, 1);
  const UniqueFd socket = stranger(host.port);
  for (const char& byte : hello) say(socket, std::span(&byte, 1));
  EXPECT_THAT(last_words(socket).value_or(""), testing::HasSubstr("another job"));
  host.finish(2);
}

TEST(Strangers, AHelloThatAnnouncesTooMuchIsNoHello) {
  Host host(2);
  auto hello = hello_bytes(kJob, 2, 1);
  hello[22] = 0x7f;  // bytes of the body: 2^55
  const UniqueFd socket = stranger(host.port);
  say(socket, hello);
  EXPECT_TRUE(last_words(socket));
  host.finish(2);
  EXPECT_EQ(host.refused()["what it said is no hello"], 1);
}

TEST(Strangers, ARankOfAnotherJobIsToldSo) {
  Host host(2);
  auto options = tcp_options(1, 2, host.port);
  options.identity.job = 1;
  const auto met = meet_over_tcp(options);
  ASSERT_FALSE(met);
  EXPECT_EQ(met.error().code, ErrorCode::PeerRejected);
  EXPECT_EQ(met.error().rank, 1);
  EXPECT_THAT(met.error().message, testing::HasSubstr("another job"));
  host.finish(2);
}

TEST(Strangers, MoreThanTheHostHoldsAtOnceAreSentAwayOldestFirst) {
  Host host(2);
  std::vector<UniqueFd> silent;
  for (int i = 0; i < 300; ++i) silent.push_back(stranger(host.port));
  EXPECT_EQ(last_words(silent.front(), 4000), "");
  host.finish(2);
  EXPECT_GE(host.refused()["too many are waiting"], 44);
}

}  // namespace
}  // namespace railwave::comm
