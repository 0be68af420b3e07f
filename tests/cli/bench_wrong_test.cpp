// What railwave bench counts as wrong, with planted faults.
#include <mutex>
#include <numeric>
#include <thread>

#include <gtest/gtest.h>

#include "bench_sizes.hpp"
#include "bench_workload.hpp"
#include "comm/bootstrap.hpp"
#include "group/thread_world.hpp"
#include "network_connections.hpp"
#include "replay_sample.hpp"
#include "workload/replay_rows.hpp"

namespace railwave::cli {
namespace {

constexpr std::int64_t kHidden = 24;
constexpr std::int64_t kTokens = 7;

BenchRequest round_trip() {
  BenchRequest out;
  out.row_bytes = 2 * kHidden;
  out.paths = {Path::Joint};
  out.tokens = {kTokens};
  return out;
}

struct Faults {
  bool sent_row = false;      ///< rank 0 sends a row that nobody expects
  bool returned_row = false;  ///< rank 1's experts return another row
  bool check = true;
};

/// The first row, every element: one alone may vanish in a sum.
void negate_row(std::vector<std::byte>& rows) {
  for (std::size_t h = 0; h < std::size_t{kHidden}; ++h) rows[2 * h + 1] ^= std::byte{0x80};
}

/// [P] one sample of every rank.
std::vector<std::vector<RankSample>> samples_with(const Faults& faults,
                                                  const ReplayWorkload& work) {
  const auto topology = *Topology::uniform(2, 2, 2);
  const auto rows = *workload::ReplayRows::create(1, DType::BF16, kHidden);
  std::vector<std::vector<RankSample>> out(4);
  world::run(
      topology, [&](RankId) { return work.placement; },
      [&](RankId self) {
        CommunicatorOptions group;
        group.self = self;
        group.max_tokens_per_rank = work.max_tokens;
        group.max_recv_rows = work.max_recv_rows;
        group.max_hidden = kHidden;
        group.max_top_k = work.top_k;
        return group;
      },
      [&](RankId self, auto& group) {
        ASSERT_TRUE(group) << to_string(group.error());
        ReplaySampler sampler({self, &topology, &work, &rows, DType::BF16, kHidden, &*group,
                               [] { return Result<Clock::time_point>(Clock::now()); },
                               [] { return Status(); }, true, faults.check});
        PreparedLayer prepared = sampler.prepare(0);
        if (faults.sent_row && self.value == 0) negate_row(prepared.x);
        if (faults.returned_row && self.value == 1) negate_row(prepared.back);
        auto sample = sampler.sample(0, prepared, Path::Joint);
        ASSERT_TRUE(sample) << to_string(sample.error());
        out[self.index()] = {*std::move(sample)};
      });
  return out;
}

std::int64_t wrong_with(const Faults& faults) {
  const auto topology = *Topology::uniform(2, 2, 2);
  const auto work = make_bench_workload({{kTokens}, 4, 4, 9}, topology);
  EXPECT_TRUE(work);
  const auto path = bench_path(Path::Joint, round_trip(), *work, samples_with(faults, *work), true);
  EXPECT_TRUE(path);
  return path ? path->sizes.at(0).wrong : -1;
}

TEST(BenchWrong, EveryCopyOfAWrongRowCounts) {
  EXPECT_EQ(wrong_with({}), 0);
  EXPECT_EQ(wrong_with({true, false}), 4);  // token 0 of rank 0 goes to all four ranks
  EXPECT_EQ(wrong_with({false, true}), 1);  // one token's sum
  EXPECT_EQ(wrong_with({true, true}), 5);
  EXPECT_EQ(wrong_with({true, true, false}), 0);
}

TEST(BenchWrong, RoundsWithDifferentBitsAreNoResult) {
  const auto topology = *Topology::uniform(2, 2, 2);
  const auto work = *make_bench_workload({{kTokens}, 4, 4, 9}, topology);
  auto samples = samples_with({}, work);
  for (auto& rank : samples) rank.push_back(rank.front());
  EXPECT_TRUE(bench_path(Path::Joint, round_trip(), work, samples, true));
  samples[2][1].bits ^= 1;
  const auto path = bench_path(Path::Joint, round_trip(), work, samples, true);
  ASSERT_FALSE(path);
  EXPECT_EQ(path.error().field, "bits");
}

TEST(BenchWrong, WarmUpsCountAsWrongButNotAsTimes) {
  const auto topology = *Topology::uniform(2, 2, 2);
  const auto work = *make_bench_workload({{kTokens}, 4, 4, 9}, topology);
  auto samples = samples_with({true, false}, work);
  for (auto& rank : samples) {
    rank.push_back(rank.front());
    rank[0].repeat = -1;
    rank[1].wrong = 0;
    rank[1].dispatch_s = 0.25 * static_cast<double>(&rank - samples.data());
    rank[1].combine_s = 0.5;
  }
  const auto path = bench_path(Path::Joint, round_trip(), work, samples, true);
  ASSERT_TRUE(path);
  EXPECT_EQ(path->sizes[0].wrong, 4);
  EXPECT_EQ(path->sizes[0].samples, std::vector<double>{0.75 + 0.5});
}

/// Two ranks as threads, one flow along the loopback device; the sender fills by `seed`.
bool transfer_is_right(std::uint64_t sender_seed) {
  const auto topology = *Topology::uniform(2, 1, 1);
  const std::vector<NetworkFlow> flows{{{NodeId(0), NodeId(1)}, RailId(0), RailId(0), 0}};
  auto gathers = comm::make_thread_all_gathers(2);
  bool right = false;
  std::vector<std::thread> ranks;
  for (int p = 0; p < 2; ++p) {
    ranks.emplace_back([&, p] {
      const auto deadline = Clock::now() + std::chrono::seconds(10);
      auto made = NetworkConnections::connect(
          {RankId(p),
           &topology,
           &flows,
           {"lo"},
           [&, p](std::span<const std::byte> mine) {
             return gathers[static_cast<std::size_t>(p)]->all_gather(mine, deadline);
           },
           p == 0 ? sender_seed : 1});
      ASSERT_TRUE(made) << to_string(made.error());
      made->prepare(100'001);
      std::map<std::size_t, Clock::time_point> ended;
      const auto moved = made->move([](const NetworkFlow&) { return true; }, deadline, ended);
      ASSERT_TRUE(moved) << to_string(moved.error());
      EXPECT_EQ(ended.size(), static_cast<std::size_t>(p));
      if (p == 1) {
        right = made->check(0);
        EXPECT_FALSE(made->check(0));  // what came once does not count again
      }
    });
  }
  for (std::thread& rank : ranks) rank.join();
  return right;
}

TEST(BenchWrong, OtherBytesOverAConnectionAreFound) {
  EXPECT_TRUE(transfer_is_right(1));
  EXPECT_FALSE(transfer_is_right(2));
}

TEST(BenchWrong, ASenderThatStaysSilentIsNamed) {
  const auto topology = *Topology::uniform(2, 1, 1);
  const std::vector<NetworkFlow> flows{{{NodeId(0), NodeId(1)}, RailId(0), RailId(0), 0}};
  auto gathers = comm::make_thread_all_gathers(2);
  std::vector<std::thread> ranks;
  for (int p = 0; p < 2; ++p) {
    ranks.emplace_back([&, p] {
      auto& gather = *gathers[static_cast<std::size_t>(p)];
      const auto limit = Clock::now() + std::chrono::seconds(10);
      auto made = NetworkConnections::connect(
          {RankId(p),
           &topology,
           &flows,
           {"lo"},
           [&](std::span<const std::byte> mine) { return gather.all_gather(mine, limit); },
           1});
      ASSERT_TRUE(made) << to_string(made.error());
      made->prepare(1000);
      std::map<std::size_t, Clock::time_point> ended;
      if (p == 1) {
        const auto moved = made->move([](const NetworkFlow&) { return true; },
                                      Clock::now() + std::chrono::milliseconds(50), ended);
        ASSERT_FALSE(moved);
        EXPECT_EQ(moved.error().code, ErrorCode::Timeout);
        EXPECT_EQ(moved.error().field, "rail 0");
        EXPECT_NE(moved.error().message.find("0 of 1000 bytes"), std::string::npos);
      }
      // Nobody hangs up before the other has seen what it is to see.
      EXPECT_TRUE(gather.all_gather({}, limit));
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

}  // namespace
}  // namespace railwave::cli
