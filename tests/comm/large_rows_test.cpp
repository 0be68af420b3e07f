// D08 (c): more rows from one rank to another than 32 bits count bytes, through shared memory and
// over one TCP rail. Every 64-bit word of a row tells its row and its place, and the words of a row
// add up to a sum that tells the row. RAILWAVE_LARGE_TOKENS is set by the build.
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <span>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "comm/cases/on_cluster.hpp"
#include "testbed/emulated_cluster.hpp"

namespace {

namespace testbed = railwave::testbed;

constexpr std::int64_t kTokens = RAILWAVE_LARGE_TOKENS;
constexpr std::int64_t kHidden = 7168;
constexpr std::int64_t kRowBytes = kHidden * 2;
constexpr std::int64_t kWords = kRowBytes / 8;
constexpr std::int64_t kBytes = kTokens * kRowBytes;
static_assert(kTokens != 149'797 || kBytes == (std::int64_t{1} << 31) + 6144);

/// Four copies lie in memory: x, the sender's rows for the node, the receiver's stage, recv_x.
constexpr std::int64_t kNeeded = 4 * kBytes + (std::int64_t{512} << 20);

/// Memory that can be had without swapping, -1 if the kernel does not say.
std::int64_t available_bytes() {
  std::ifstream all("/proc/meminfo");
  for (std::string word; all >> word;) {
    std::int64_t kib = 0;
    if (word == "MemAvailable:" && all >> kib) return kib * 1024;
  }
  return -1;
}

constexpr std::uint64_t word_of(std::int64_t row, std::int64_t place) {
  return static_cast<std::uint64_t>(row) + (static_cast<std::uint64_t>(place) << 32);
}

/// Of the words of a row: kWords times its index, and the places.
constexpr std::uint64_t sum_of_row(std::int64_t row) {
  return static_cast<std::uint64_t>(kWords * row) +
         (static_cast<std::uint64_t>(kWords * (kWords - 1) / 2) << 32);
}

std::unique_ptr<std::uint64_t[]> rows_of(std::int64_t count) {
  std::unique_ptr<std::uint64_t[]> rows(
      new std::uint64_t[static_cast<std::size_t>(count * kWords)]);
  for (std::int64_t row = 0; row < count; ++row) {
    for (std::int64_t i = 0; i < kWords; ++i)
      rows[static_cast<std::size_t>(row * kWords + i)] = word_of(row, i);
  }
  return rows;
}

/// The first row that is not the one it should be, -1 if there is none.
std::int64_t first_wrong(const std::uint64_t* rows, std::int64_t count) {
  for (std::int64_t row = 0; row < count; ++row) {
    std::uint64_t sum = 0;
    std::uint64_t differing = 0;
    for (std::int64_t i = 0; i < kWords; ++i) {
      const std::uint64_t word = rows[row * kWords + i];
      sum += word;
      differing |= word ^ word_of(row, i);
    }
    if (sum != sum_of_row(row) || differing != 0) return row;
  }
  return -1;
}

void send_all(cases::Rank& rank, const std::vector<std::string>&) {
  using std::chrono::seconds;
  auto options = cases::options_for(rank, kTokens, kHidden, railwave::DType::BF16, 1);
  options.max_recv_rows = kTokens;
  options.deadlines = {seconds(60), seconds(120), seconds(120)};
  auto group = rank.make(*railwave::Placement::contiguous(2, 2), options);
  ASSERT_TRUE(group) << to_string(group.error());
  const std::int64_t tokens = rank.self.value == 0 ? kTokens : 0;
  const auto x = rows_of(tokens);
  const std::vector<std::int64_t> idx(static_cast<std::size_t>(tokens), 1);
  railwave::DispatchArguments in;
  in.x = x.get();
  in.tokens = tokens;
  in.hidden = kHidden;
  in.top_k = 1;
  in.topk_idx = idx;
  in.path = railwave::Path::Native;
  rank.doing("the dispatch");
  const auto received = group->dispatch(in);
  ASSERT_TRUE(received) << to_string(received.error());
  rank.doing("looking at the rows");
  ASSERT_EQ(received->rows, rank.self.value == 1 ? kTokens : 0);
  EXPECT_EQ(first_wrong(reinterpret_cast<const std::uint64_t*>(received->x), received->rows), -1);
  cases::say(fmt::format("{} bytes received in {:.2f} s", received->rows * kRowBytes,
                         received->report.total_s));
}

/// By the number of nodes: two ranks on one, or one on each of two.
class LargeRows : public testing::TestWithParam<int> {};

TEST_P(LargeRows, ArriveInTheirPlaces) {
  const std::int64_t available = available_bytes();
  if (available >= 0 && available < kNeeded) {
    GTEST_SKIP() << "needs " << kNeeded << " bytes of free memory, there are " << available
                 << "; end other programs or use a larger machine";
  }
  auto spec = testbed::uniform_cluster(GetParam(), 2 / GetParam(), 1);
  spec.rate = 16'000'000'000;
  RAILWAVE_START_CLUSTER(cluster, spec);
  cases::Job job{"send"};
  job.limit = std::chrono::seconds(240);
  std::printf("%s", cases::run_on_cluster(cluster, job).output.c_str());
}

INSTANTIATE_TEST_SUITE_P(D08, LargeRows, testing::Values(1, 2), [](const auto& one) {
  return one.param == 1 ? "SharedMemory" : "OneRail";
});

}  // namespace

int main(int argc, char** argv) {
  return cases::run_tests_or_rank(argc, argv, {{"send", send_all}});
}
