// What a group takes of real memory over UCX, against docs/workspace.md.
#include <fstream>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "comm/cases/on_cluster.hpp"
#include "group/full_load.hpp"
#include "testbed/emulated_cluster.hpp"

namespace {

namespace testbed = railwave::testbed;

constexpr std::int64_t kTokens = 512;
constexpr std::int64_t kHidden = 4096;

/// Memory of this process; a page that several share counts in parts.
std::int64_t proportional_bytes() {
  std::ifstream rollup("/proc/self/smaps_rollup");
  for (std::string word; rollup >> word;) {
    std::int64_t kib = 0;
    if (word == "Pss:" && rollup >> kib) return kib * 1024;
  }
  return -1;
}

void fill(cases::Rank& rank, const std::vector<std::string>&) {
  auto options =
      cases::options_for(rank, kTokens, kHidden, railwave::DType::BF16, rank.topology.ranks());
  options.max_recv_rows = kTokens * rank.topology.ranks();
  full::Load load(kTokens, kHidden, rank.topology.ranks());
  const int ranks = rank.topology.ranks();
  auto group = rank.make(*railwave::Placement::contiguous(ranks, ranks), options);
  ASSERT_TRUE(group) << to_string(group.error());
  const auto said = railwave::workspace_size(rank.topology, options);
  EXPECT_EQ(group->workspace().segment, said->segment);
  EXPECT_EQ(group->workspace().send_slots, said->send_slots);
  // Parts of shared pages move between processes, so all look at the same moments.
  ASSERT_TRUE(group->all_gather({}));
  const std::int64_t before = proportional_bytes();
  ASSERT_TRUE(group->all_gather({}));
  load.run(*group);
  ASSERT_TRUE(group->all_gather({}));
  const std::int64_t after = proportional_bytes();
  ASSERT_TRUE(group->all_gather({}));
  cases::say(fmt::format("reserved {} grown {}", said->segment + said->send_slots, after - before));
}

TEST(WorkspaceOnCluster, IsNotExceeded) {
  auto spec = testbed::uniform_cluster(2, 2, 2);
  spec.rate = 2'000'000'000;
  RAILWAVE_START_CLUSTER(cluster, spec);
  const auto result = cases::run_on_cluster(cluster, {"fill"});
  std::int64_t reserved = 0;
  std::int64_t grown = 0;
  std::istringstream lines(result.output);
  for (std::string line; std::getline(lines, line);) {
    int rank = 0;
    long long part = 0;
    long long more = 0;
    if (std::sscanf(line.c_str(), "[%d] reserved %lld grown %lld", &rank, &part, &more) != 3) {
      continue;
    }
    reserved += part;
    grown += more;
  }
  RecordProperty("reserved_bytes", std::to_string(reserved));
  RecordProperty("grown_bytes", std::to_string(grown));
  ASSERT_GT(reserved, 0) << result.output;
  // UCX's own buffers, which do not grow with the workspace: each rank drives one rail.
  EXPECT_LE(grown, reserved + spec.ranks() * (std::int64_t{4} << 20));
  EXPECT_GE(grown, reserved / 2) << "the steps did not fill the workspace";
}

}  // namespace

int main(int argc, char** argv) { return cases::run_tests_or_rank(argc, argv, {{"fill", fill}}); }
