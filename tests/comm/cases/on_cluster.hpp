// Runs something on every rank of an emulated cluster by starting this executable again.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "comm/cases/rank.hpp"
#include "testbed/cluster.hpp"

namespace cases {

/// What a rank does, and the words after its name on the command line.
using RankBody = std::function<void(Rank&, const std::vector<std::string>&)>;
using RankBodies = std::map<std::string, RankBody>;

/// main() of a test that starts itself as ranks: `argv` is [program, kRankWord, body, words...] on
/// a rank, where the body runs and the status is 1 if an assertion failed; else the tests run.
int run_tests_or_rank(int argc, char** argv, const RankBodies& bodies);

/// Ends of a job: what the ranks printed with say(), and their bits [P].
struct JobResult {
  std::string output;  ///< each line begins with "[rank] "
  std::vector<std::uint64_t> bits;
};

/// Prints a line that belongs to the rank.
void say(const std::string& line);

struct Job {
  std::string body;
  std::vector<std::string> words{};
  std::chrono::seconds limit{60};
  /// Called in a thread of its own with each line ("[rank] ...") as soon as it is printed.
  std::function<void(const std::string&)> on_line{};
};

/// Runs a body on all ranks; an unsuccessful rank is a failure with everything that was printed.
JobResult run_on_cluster(railwave::testbed::Cluster& cluster, const Job& job);

/// Waits without spinning.
void wait_for(std::chrono::microseconds time);

}  // namespace cases
