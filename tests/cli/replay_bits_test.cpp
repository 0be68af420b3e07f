// The combined bits of a replay by the trace's own routing: the same on all paths, over loopback in
// this process, over UCX on the emulated cluster, and by the definition.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>

#include <gtest/gtest.h>

#include <railwave/communicator.hpp>

#include "cli/command.hpp"
#include "group/thread_world.hpp"
#include "replay_options.hpp"
#include "replay_sample.hpp"
#include "replay_workload.hpp"
#include "report/replay_json.hpp"
#include "testbed/emulated_cluster.hpp"
#include "testbed/scratch.hpp"
#include "workload/replay_rows.hpp"

namespace railwave::cli {
namespace {

constexpr std::int64_t kHidden = 96;
constexpr std::int64_t kTokens = 6;
constexpr int kLayers = 2;

/// The recorded trace where the data lies, else a generated one.
std::string trace_file(const std::string& name) {
  const char* folder = std::getenv("RAILWAVE_DATA");
  if (folder == nullptr) return {};
  const auto path = std::filesystem::path(folder) / name;
  return std::filesystem::exists(path) ? path.string() : std::string{};
}

ReplayOptions options_for(const std::string& trace, int experts) {
  ReplayOptions options;
  options.trace = trace;
  options.experts = experts;
  options.routing = "trace";
  options.hidden = kHidden;
  options.max_tokens = kTokens;
  options.layers = kLayers;
  options.repeats = 1;
  return options;
}

/// bits of each path over loopback, 32 ranks as threads; wrong rows fail the test.
std::vector<std::string> loopback_bits(const ReplayOptions& options) {
  const auto topology = *Topology::uniform(4, 8, 8);
  const auto request = understand(options);
  EXPECT_TRUE(request);
  const auto work = make_workload(options, *request, topology);
  EXPECT_TRUE(work) << (work ? "" : to_string(work.error()));
  if (!work) return {};
  const auto rows = *workload::ReplayRows::create(options.seed, DType::BF16, kHidden);
  std::vector<std::vector<std::vector<std::uint64_t>>> bits(
      kAllPaths.size(),
      std::vector<std::vector<std::uint64_t>>(kLayers, std::vector<std::uint64_t>(32)));
  world::run(
      topology, [&](RankId) { return work->placement; },
      [&](RankId self) {
        CommunicatorOptions group;
        group.self = self;
        group.max_tokens_per_rank = work->max_tokens;
        group.max_recv_rows = work->max_recv_rows;
        group.max_hidden = kHidden;
        group.max_top_k = work->top_k;
        return group;
      },
      [&](RankId self, auto& group) {
        ASSERT_TRUE(group) << to_string(group.error());
        ReplaySampler sampler({self, &topology, &*work, &rows, DType::BF16, kHidden, &*group,
                               [] { return Result<Clock::time_point>(Clock::now()); },
                               [] { return Status(); }});
        for (std::size_t layer = 0; layer < kLayers; ++layer) {
          const PreparedLayer prepared = sampler.prepare(layer);
          for (std::size_t path = 0; path < kAllPaths.size(); ++path) {
            const auto sample = sampler.sample(layer, prepared, kAllPaths[path]);
            ASSERT_TRUE(sample) << to_string(sample.error());
            EXPECT_EQ(sample->wrong, 0);
            bits[path][layer][self.index()] = sample->bits;
          }
        }
      });
  std::vector<std::string> out;
  for (const auto& path : bits) {
    std::vector<std::uint64_t> layers;
    for (const auto& ranks : path) layers.push_back(workload::hash_of_hashes(ranks));
    out.push_back(report::format_bits(workload::hash_of_hashes(layers)));
  }
  return out;
}

std::vector<std::string> cluster_bits(const ReplayOptions& options) {
  const testbed::ScratchDirectory scratch;
  const auto json = scratch.file("result.json");
  std::vector<std::string> words{RAILWAVE_COMMAND,
                                 "replay",
                                 "--no-gate",
                                 "--rate",
                                 "200mbit",
                                 "--routing",
                                 "trace",
                                 "--hidden",
                                 std::to_string(kHidden),
                                 "--max-tokens",
                                 std::to_string(kTokens),
                                 "--layers",
                                 std::to_string(kLayers),
                                 "--repeats",
                                 "1",
                                 "--experts",
                                 std::to_string(options.experts),
                                 "--json",
                                 json};
  if (!options.trace.empty()) words.insert(words.end(), {"--trace", options.trace});
  Command command(words);
  const std::string errors = command.errors();
  EXPECT_EQ(command.wait(), 0) << errors;
  std::ifstream file(json);
  std::stringstream text;
  text << file.rdbuf();
  const auto results = report::from_json(text.str());
  EXPECT_TRUE(results);
  std::vector<std::string> out;
  if (!results) return out;
  for (const report::PathResult& path : results->front().paths) {
    EXPECT_EQ(path.wrong, 0);
    out.push_back(path.bits.value_or(""));
  }
  return out;
}

class ReplayBits : public testing::TestWithParam<std::pair<const char*, int>> {};

TEST_P(ReplayBits, AreTheSameOnAllPathsAndBothTransports) {
  RAILWAVE_NEED_CLUSTER();
  const auto [file, experts] = GetParam();
  const ReplayOptions options = options_for(trace_file(file), experts);
  const auto here = loopback_bits(options);
  ASSERT_EQ(here.size(), 4U);
  for (const std::string& bits : here) EXPECT_EQ(bits, here.front());
  EXPECT_EQ(cluster_bits(options), here);
}

INSTANTIATE_TEST_SUITE_P(Traces, ReplayBits,
                         testing::Values(std::pair("esft_dsv2lite/intent_L26_T8222_K6.u8", 64),
                                         std::pair("qwen3_30b_a3b/ep_states_L48_T1960_K8.u8",
                                                   128)));

}  // namespace
}  // namespace railwave::cli
