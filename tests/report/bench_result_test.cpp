#include "report/bench_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railwave::report {
namespace {

using testing::HasSubstr;

/// 4 ranks that receive 800 bytes each in 2 s, half of what the bound allows.
BenchResult exchange() {
  BenchSize size;
  size.size_bytes = 200;
  size.tokens = 10;
  size.logical_bytes = 800;
  size.wire_bytes = 300;
  size.bound_s = 1;
  size.bits = "00000000000000aa";
  size.breakdown = Breakdown{0.1, 0.2, 0.3, 0, 1, 0.4};
  size.samples = {2, 1, 3};
  BenchResult out;
  out.operation = "round-trip";
  out.cluster.nodes = 2;
  out.cluster.ranks_per_node = {1, 3};
  out.cluster.rails = 2;
  out.cluster.rail_bit_s = 1000;
  out.workload = {8, 2, "bf16", 10, 20};
  out.rounds = {3, 1, true};
  out.paths = {{"native", {size}}, {"joint", {size}}};
  EXPECT_TRUE(summarise(out));
  return out;
}

NetworkResult incast() {
  NetworkSize size;
  size.size_bytes = 1000;
  size.samples = {4, 2, 5, 4};
  NetworkResult out;
  out.operation = "incast";
  out.cluster.nodes = 4;
  out.cluster.ranks_per_node = {1, 1, 1, 1};
  out.rounds = {4, 0, true};
  out.rails = {{5, "1,2,3>0", 3, 12000, {size}}};
  EXPECT_TRUE(summarise(out));
  return out;
}

TEST(BenchResult, BandwidthsFollowFromTheMedian) {
  const BenchResult result = exchange();
  const BenchSize& size = result.paths[0].sizes[0];
  EXPECT_EQ(size.time.p50_s, 2);
  EXPECT_EQ(size.time.min_s, 1);
  EXPECT_EQ(size.time.max_s, 3);
  EXPECT_FALSE(size.time.p99_s);
  EXPECT_EQ(size.algbw_byte_s, 400);
  EXPECT_EQ(size.busbw_byte_s, 300);  // 3 of 4 ranks are others
  EXPECT_EQ(size.ratio_to_bound, 2);
}

TEST(BenchResult, ALoneRankHasNoBusBandwidth) {
  BenchResult result = exchange();
  result.cluster.ranks_per_node = {1};
  ASSERT_TRUE(summarise(result));
  EXPECT_EQ(result.paths[0].sizes[0].busbw_byte_s, 0);
}

TEST(BenchResult, ASizeWithoutSamplesIsNamed) {
  BenchResult result = exchange();
  result.paths[1].sizes[0].samples.clear();
  const auto status = summarise(result);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().field, "samples");
  EXPECT_THAT(status.error().message, HasSubstr("joint"));
}

TEST(BenchResult, IsWrittenAndReadBack) {
  const BenchResult result = exchange();
  const auto json = to_json(result);
  ASSERT_TRUE(json);
  const auto back = bench_from_json(*json);
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(*back, result);
  EXPECT_EQ(network_from_json(*json).error().field, "schema");
}

TEST(BenchResult, TheTableShowsEverySizeAndWhatWasWrong) {
  BenchResult result = exchange();
  result.paths[1].sizes[0].wrong = 7;
  const std::string text = to_table(result);
  EXPECT_THAT(text, HasSubstr("# cluster      2 nodes x 1,3 ranks"));
  EXPECT_THAT(text, HasSubstr("2000000.0  1000000.0  3000000.0"));
  EXPECT_THAT(text, testing::ContainsRegex("joint .* 7\n"));
  result.rounds.check = false;
  EXPECT_THAT(to_table(result), testing::ContainsRegex("joint .* -\n"));
}

TEST(BenchResult, WrongRowsDifferentBitsAndImpossibleTimesFail) {
  EXPECT_TRUE(verdict(exchange()));
  BenchResult wrong = exchange();
  wrong.paths[1].sizes[0].wrong = 1;
  EXPECT_EQ(verdict(wrong).error().code, ErrorCode::IntegrityError);
  BenchResult bits = exchange();
  bits.paths[1].sizes[0].bits = "00000000000000ab";
  EXPECT_EQ(verdict(bits).error().field, "bits");
  bits.paths[1].name = "openmpi";
  EXPECT_TRUE(verdict(bits));
  BenchResult fast = exchange();
  fast.paths[0].sizes[0].ratio_to_bound = 0.99;
  EXPECT_EQ(verdict(fast).error().field, "ratio_to_bound");
}

TEST(NetworkResult, RatesCountWhatTheReceiverGets) {
  const NetworkResult result = incast();
  const NetworkSize& size = result.rails[0].sizes[0];
  EXPECT_EQ(size.time.p50_s, 4);
  EXPECT_EQ(size.bit_s, 6000);  // 3 x 8,000 bits in 4 s
  EXPECT_EQ(size.fraction, 0.5);
}

TEST(NetworkResult, IsWrittenAndReadBack) {
  const NetworkResult result = incast();
  const auto json = to_json(result);
  ASSERT_TRUE(json);
  const auto back = network_from_json(*json);
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(*back, result);
  EXPECT_THAT(to_table(result), HasSubstr("1,2,3>0"));
}

TEST(NetworkResult, AWrongTransferFails) {
  NetworkResult result = incast();
  EXPECT_TRUE(verdict(result));
  result.rails[0].sizes[0].wrong = 1;
  EXPECT_EQ(verdict(result).error().code, ErrorCode::IntegrityError);
}

}  // namespace
}  // namespace railwave::report
