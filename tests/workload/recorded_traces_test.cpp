// Figures of the recorded traces, as published beside them (its SOURCES.md), through our readers.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <numeric>

#include <gtest/gtest.h>

#include "workload/bins.hpp"
#include "workload/schedule.hpp"
#include "workload/trace_reader.hpp"

namespace railwave::workload {
namespace {

class RecordedTracesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("RAILWAVE_DATA");
    if (folder == nullptr || !std::filesystem::is_directory(folder)) {
      GTEST_SKIP() << "RAILWAVE_DATA names no folder with recorded traces";
    }
    folder_ = folder;
  }
  Trace read(const std::string& name, const TraceReadOptions& options = {}) {
    auto trace = read_trace((folder_ / name).string(), options);
    if (!trace) ADD_FAILURE() << to_string(trace.error());
    return std::move(trace).value();
  }
  std::filesystem::path folder_;
};

std::vector<std::int64_t> bins_over_layers(const Trace& trace) {
  std::vector<std::int64_t> sum(8, 0);
  for (int layer = 0; layer < trace.layers(); ++layer) {
    const auto bins = bin_counts(trace.expert_counts(layer), 8, BinOrder::Sorted);
    for (std::size_t i = 0; i < 8; ++i) sum[i] += bins[i];
  }
  return sum;
}

void expect_shares(const Trace& trace, const std::vector<double>& bins_percent, double bin_error,
                   const std::vector<double>& pairs_percent, double pair_error) {
  const auto bins = bins_over_layers(trace);
  const auto total =
      static_cast<double>(std::accumulate(bins.begin(), bins.end(), std::int64_t{0}));
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_NEAR(100 * static_cast<double>(bins[i]) / total, bins_percent[i], bin_error);
  }
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(100 * static_cast<double>(bins[2 * i] + bins[2 * i + 1]) / total, pairs_percent[i],
                pair_error);
  }
}

double max_over_mean(const std::vector<std::int64_t>& counts) {
  const auto sum = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  return static_cast<double>(*std::ranges::max_element(counts)) *
         static_cast<double>(counts.size()) / static_cast<double>(sum);
}

/// p10, p50, p90 over layers of max/mean.
std::vector<double> spread(const Trace& trace, auto counts_of_layer) {
  std::vector<double> all;
  for (int layer = 0; layer < trace.layers(); ++layer) {
    all.push_back(max_over_mean(counts_of_layer(trace.expert_counts(layer))));
  }
  std::ranges::sort(all);
  std::vector<double> out;
  for (const double p : {0.1, 0.5, 0.9}) {
    out.push_back(
        all[static_cast<std::size_t>(std::lround(p * static_cast<double>(all.size() - 1)))]);
  }
  return out;
}

void expect_near(const std::vector<double>& have, const std::vector<double>& want, double error) {
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(have[i], want[i], error) << i;
}

/// 4 nodes x 8 ranks, contiguous experts, rail = local rank.
std::vector<std::int64_t> rail_loads(const std::vector<std::int64_t>& counts) {
  std::vector<std::int64_t> rails(8, 0);
  for (std::size_t e = 0; e < counts.size(); ++e) rails[e / (counts.size() / 32) % 8] += counts[e];
  return rails;
}

TEST_F(RecordedTracesTest, EsftIntent) {
  const Trace trace = read("esft_dsv2lite/intent_L26_T8222_K6.u8");
  EXPECT_EQ(trace.experts(), 64);
  expect_shares(trace, {33.2, 19.8, 14.4, 10.8, 8.5, 6.5, 4.6, 2.2}, 0.05,
                {53.01, 25.16, 15.05, 6.78}, 0.005);
  expect_near(spread(trace, [](auto counts) { return counts; }), {3.11, 3.98, 4.33}, 0.1);
  expect_near(spread(trace, rail_loads), {1.24, 1.40, 1.61}, 0.03);
}

TEST_F(RecordedTracesTest, EsftIntentHasTheRailSkewOf2_66) {
  const Trace trace = read("esft_dsv2lite/intent_L26_T8222_K6.u8");
  std::vector<std::int64_t> rails(8, 0);
  for (int layer = 0; layer < trace.layers(); ++layer) {
    const auto phase =
        ReplayPhase::create({4, 8}, trace.expert_counts(layer), {.schedule = Schedule::Ring});
    ASSERT_TRUE(phase);
    for (int g = 0; g < 8; ++g) rails[static_cast<std::size_t>(g)] += phase->bin_rows(g);
  }
  EXPECT_NEAR(max_over_mean(rails), 2.66, 0.005);
}

TEST_F(RecordedTracesTest, EsftLawAndSummary) {
  expect_shares(read("esft_dsv2lite/law_L26_T8327_K6.u8"),
                {27.4, 17.4, 14.2, 11.9, 10.1, 8.4, 6.7, 4.0}, 0.06, {44.70, 26.12, 18.52, 10.66},
                0.006);
  expect_shares(read("esft_dsv2lite/summary_L26_T8479_K6.u8"),
                {30.9, 17.8, 13.9, 11.3, 9.4, 7.7, 5.8, 3.3}, 0.06, {48.66, 25.22, 17.03, 9.09},
                0.006);
}

TEST_F(RecordedTracesTest, TheCsvAgreesWithTheIds) {
  for (const char* task : {"intent", "law", "summary"}) {
    const Trace csv = read("esft_dsv2lite/expert_counts.csv", {.task = task});
    std::string ids;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "esft_dsv2lite")) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with(task) && name.ends_with(".u8")) ids = "esft_dsv2lite/" + name;
    }
    const Trace trace = read(ids);
    ASSERT_EQ(csv.layers(), trace.layers());
    for (int layer = 0; layer < csv.layers(); ++layer) {
      EXPECT_EQ(csv.expert_counts(layer), trace.expert_counts(layer)) << task << layer;
    }
  }
}

TEST_F(RecordedTracesTest, Qwen3HasDistinctExpertsAndAgreesWithItsCsv) {
  const Trace trace = read("qwen3_30b_a3b/ep_states_L48_T1960_K8.u8");
  const Trace csv = read("qwen3_30b_a3b/expert_counts.csv:ep_states");
  EXPECT_EQ(trace.experts(), 128);
  ASSERT_EQ(csv.layers(), 48);
  for (int layer = 0; layer < 48; ++layer) {
    EXPECT_EQ(csv.expert_counts(layer), trace.expert_counts(layer)) << layer;
  }
}

TEST_F(RecordedTracesTest, TokensReachTheNodesThatTheSourcesSay) {
  // A token of Qwen3 reaches 3.64 of 4 nodes; one record per (token, node) leaves 0.45 of the
  // copies per expert, for ESFT 0.56.
  const auto nodes_per_slot = [](const Trace& trace) {
    std::int64_t reached = 0;
    for (int layer = 0; layer < trace.layers(); ++layer) {
      for (std::int64_t token = 0; token < trace.tokens(); ++token) {
        unsigned nodes = 0;
        for (int slot = 0; slot < trace.top_k(); ++slot) {
          nodes |= 1U << (trace.id(layer, token, slot) * 4 / trace.experts());
        }
        reached += std::popcount(nodes);
      }
    }
    return static_cast<double>(reached) /
           static_cast<double>(trace.layers() * trace.tokens() * trace.top_k());
  };
  const double qwen = nodes_per_slot(read("qwen3_30b_a3b/ep_states_L48_T1960_K8.u8"));
  EXPECT_NEAR(8 * qwen, 3.64, 0.02);
  EXPECT_NEAR(qwen, 0.45, 0.01);
  EXPECT_NEAR(nodes_per_slot(read("esft_dsv2lite/intent_L26_T8222_K6.u8")), 0.56, 0.01);
}

TEST_F(RecordedTracesTest, SmartMoe) {
  const Trace trace = read("smartmoe_gpt/counts_I20_L24_R16_M4_E32.u16le");
  EXPECT_EQ(trace.layers(), 480);
  EXPECT_EQ(trace.sources(), 64);
  for (int layer = 0; layer < trace.layers(); ++layer) {
    const auto counts = trace.source_counts(layer);
    for (std::size_t source = 0; source < 64; ++source) {
      const auto first = counts.begin() + static_cast<std::ptrdiff_t>(source * 32);
      ASSERT_EQ(std::accumulate(first, first + 32, std::int64_t{0}), 4096);
    }
  }
  // The published figures are of 501 iterations, this file has 20 of them.
  expect_shares(trace, {71.8, 17.1, 6.0, 2.5, 1.2, .7, .4, .3}, 2, {88.91, 8.49, 1.92, 0.68}, 2);
  expect_near(spread(trace, [](auto counts) { return counts; }), {5.63, 12.60, 15.66}, 0.8);
}

}  // namespace
}  // namespace railwave::workload
