#include "comm/cases/on_cluster.hpp"

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <sstream>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
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

std::string text_of(int descriptor) {
  std::string out(static_cast<std::size_t>(::lseek(descriptor, 0, SEEK_END)), '\0');
  const auto count = ::pread(descriptor, out.data(), out.size(), 0);
  out.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
  return out;
}

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

JobResult run_on_cluster(testbed::Cluster& cluster, const std::string& body,
                         const std::vector<std::string>& words, std::chrono::seconds limit) {
  const railwave::UniqueFd output(::memfd_create("output", MFD_CLOEXEC));
  testbed::RunOptions options;
  options.argv = {"/proc/self/exe", kRankWord, body, std::to_string(limit.count() - 5)};
  options.argv.insert(options.argv.end(), words.begin(), words.end());
  options.tag_output = true;
  options.stdout_fd = output.get();
  options.stderr_fd = output.get();
  options.deadline = railwave::Clock::now() + limit;
  const auto outcome = cluster.run(options);
  JobResult result;
  result.output = text_of(output.get());
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
