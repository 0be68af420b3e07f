#include "comm/cases/on_cluster.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <sstream>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include "base/event_loop.hpp"
#include "group/thread_world.hpp"
#include "testbed/cluster_spec.hpp"

namespace cases {
namespace {

namespace testbed = railwave::testbed;
constexpr const char* kRankWord = "--as-rank-of-a-test";

/// "rail0,-,rail2" as device names, empty where the node lacks the rail.
std::vector<std::string> rail_devices() {
  std::vector<std::string> names;
  std::istringstream all(std::getenv("RAILWAVE_RAILS"));
  for (std::string name; std::getline(all, name, ',');) {
    names.push_back(name == "-" ? std::string() : name);
  }
  return names;
}

/// What this process does at the moment, for its watchdog.
class State {
 public:
  void set(std::string text) {
    const std::lock_guard lock(mutex_);
    text_ = std::move(text);
  }
  std::string get() {
    const std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  std::mutex mutex_;
  std::string text_ = "starting";
};

int run_rank(const RankBody& body, std::chrono::seconds limit,
             const std::vector<std::string>& words) {
  const auto spec = testbed::cluster_from_environment();
  const auto topology = Topology::create(testbed::topology_options(**spec));
  State state;
  const RankId self(std::atoi(std::getenv("RANK")));
  const world::Watchdog watchdog(
      limit, [&] { std::fprintf(stderr, "  rank %d: %s\n", self.value, state.get().c_str()); });
  Rank rank{self, *topology, {}, [] {}, [&](const std::string& text) { state.set(text); }};
  rank.make = [&](const Placement& placement, const CommunicatorOptions& options) {
    state.set("making a group");
    return Communicator::create(*topology, placement, options, rail_devices());
  };
  body(rank, words);
  say(fmt::format("bits {:016x}", rank.bits));
  return testing::UnitTest::GetInstance()->ad_hoc_test_result().Failed() ? 1 : 0;
}

/// Reads what the ranks print until the last writer is gone.
class Listener {
 public:
  explicit Listener(std::function<void(const std::string&)> on_line)
      : on_line_(std::move(on_line)) {
    std::array<int, 2> ends{};
    [[maybe_unused]] const int made = ::pipe2(ends.data(), O_CLOEXEC);
    read_ = railwave::UniqueFd(ends[0]);
    write_ = railwave::UniqueFd(ends[1]);
    thread_ = std::thread([this] { listen(); });
  }
  [[nodiscard]] int descriptor() const { return write_.get(); }
  /// Everything that was printed. To be called once, after the run.
  std::string finish() {
    write_ = railwave::UniqueFd();
    thread_.join();
    return text_;
  }

 private:
  void listen() {
    std::array<char, 4096> piece{};
    std::size_t line = 0;
    for (ssize_t got = 0; (got = ::read(read_.get(), piece.data(), piece.size())) > 0;) {
      text_.append(piece.data(), static_cast<std::size_t>(got));
      for (auto end = text_.find('\n', line); end != std::string::npos;
           end = text_.find('\n', line)) {
        if (on_line_) on_line_(text_.substr(line, end - line));
        line = end + 1;
      }
    }
  }
  std::function<void(const std::string&)> on_line_;
  railwave::UniqueFd read_;
  railwave::UniqueFd write_;
  std::string text_;
  std::thread thread_;
};

std::vector<std::uint64_t> bits_of(const std::string& output, std::size_t ranks) {
  std::vector<std::uint64_t> bits(ranks);
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    unsigned rank = 0;
    unsigned long long value = 0;
    if (std::sscanf(line.c_str(), "[%u] bits %llx", &rank, &value) == 2) bits.at(rank) = value;
  }
  return bits;
}

}  // namespace

int run_tests_or_rank(int argc, char** argv, const RankBodies& bodies) {
  const std::vector<std::string> words(argv, argv + argc);
  // The variable names the file of the tests' results, which a rank must not overwrite.
  if (argc >= 4 && words[1] == kRankWord) {
    ::unsetenv("GTEST_OUTPUT");
    return run_rank(bodies.at(words[2]), std::chrono::seconds(std::stoi(words[3])),
                    {words.begin() + 4, words.end()});
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

JobResult run_on_cluster(testbed::Cluster& cluster, const Job& job) {
  Listener listener(job.on_line);
  testbed::RunOptions options;
  options.argv = {"/proc/self/exe", kRankWord, job.body, std::to_string(job.limit.count() - 5)};
  options.argv.insert(options.argv.end(), job.words.begin(), job.words.end());
  options.tag_output = true;
  options.stdout_fd = listener.descriptor();
  options.stderr_fd = listener.descriptor();
  options.deadline = railwave::Clock::now() + job.limit;
  const auto outcome = cluster.run(options);
  JobResult result;
  result.output = listener.finish();
  if (!outcome) {
    ADD_FAILURE() << to_string(outcome.error());
  } else if (outcome->exit_status != 0) {
    ADD_FAILURE() << outcome->message << "\n" << result.output;
  }
  result.bits = bits_of(result.output, static_cast<std::size_t>(cluster.spec().ranks()));
  return result;
}

void wait_for(std::chrono::microseconds time) {
  const auto until = railwave::Clock::now() + time;
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::nanoseconds>(until - railwave::Clock::now());
    if (left.count() <= 0) return;
    const timespec rest{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
    (void)::ppoll(nullptr, 0, &rest, nullptr);
  }
}

}  // namespace cases
