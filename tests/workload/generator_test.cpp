#include "workload/generator.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "workload/integer_rng.hpp"

namespace railwave::workload {
namespace {

/// Shares in percent of the pairs of sorted bins, summed over layers; written from App. A.6.
std::vector<double> pair_shares(const Trace& trace) {
  std::vector<double> pairs(4, 0);
  for (int layer = 0; layer < trace.layers(); ++layer) {
    auto counts = trace.expert_counts(layer);
    std::sort(counts.rbegin(), counts.rend());
    for (std::size_t i = 0; i < counts.size(); ++i) {
      pairs[i * 4 / counts.size()] += static_cast<double>(counts[i]);
    }
  }
  const double sum = std::accumulate(pairs.begin(), pairs.end(), 0.0);
  for (double& share : pairs) share *= 100 / sum;
  return pairs;
}

void expect_the_papers_shares(const GeneratorOptions& options) {
  const auto trace = generate_counts(options);
  ASSERT_TRUE(trace) << to_string(trace.error());
  const auto shares = pair_shares(*trace);
  const std::vector<double> paper{54.12, 24.33, 14.85, 6.69};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(shares[i], paper[i], 0.5) << "pair " << i;
}

TEST(GeneratorTest, FitsFigure8ForAnySeedAndShape) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) expect_the_papers_shares({.seed = seed});
  expect_the_papers_shares({.layers = 45, .experts = 128, .top_k = 8, .tokens = 4096});
  expect_the_papers_shares({.layers = 1, .experts = 256, .top_k = 8, .tokens = 4096});
  expect_the_papers_shares({.layers = 3, .experts = 16, .top_k = 2, .tokens = 2000});
}

TEST(GeneratorTest, LayersDifferInSkewAndInTheirHotExperts) {
  const auto trace = *generate_counts({});
  std::set<std::int64_t> hottest;
  std::set<std::ptrdiff_t> where;
  for (int layer = 0; layer < trace.layers(); ++layer) {
    const auto counts = trace.expert_counts(layer);
    const auto most = std::ranges::max_element(counts);
    hottest.insert(*most);
    where.insert(most - counts.begin());
  }
  EXPECT_GT(hottest.size(), 13U);
  EXPECT_GT(where.size(), 13U);
}

TEST(GeneratorTest, IsTheSameOnEveryMachine) {
  IntegerRng rng(1234567);
  EXPECT_EQ(rng.next(), 6457827717110365317ULL);  // published test vector of SplitMix64
  EXPECT_EQ(rng.next(), 3203168211198807973ULL);
  const auto trace = *generate_ids({.layers = 2, .experts = 8, .top_k = 2, .tokens = 5, .seed = 7});
  std::vector<std::int64_t> ids;
  for (int layer = 0; layer < 2; ++layer) {
    for (int token = 0; token < 5; ++token) {
      for (int slot = 0; slot < 2; ++slot) ids.push_back(trace.id(layer, token, slot));
    }
  }
  EXPECT_THAT(ids,
              ::testing::ElementsAre(7, 3, 0, 2, 3, 4, 3, 1, 3, 0, 5, 1, 3, 7, 0, 1, 4, 1, 2, 3));
}

RC_GTEST_PROP(GeneratorTest, IdsHaveTheCountsAndNoExpertTwice, ()) {
  GeneratorOptions options;
  options.layers = *rc::gen::inRange(1, 4);
  options.experts = *rc::gen::inRange(1, 40);
  options.top_k = *rc::gen::inRange(1, options.experts + 1);
  options.tokens = *rc::gen::inRange(0, 60);
  options.seed = *rc::gen::arbitrary<std::uint64_t>();
  const auto counts = generate_counts(options);
  const auto ids = generate_ids(options);
  RC_ASSERT(counts.has_value());
  RC_ASSERT(ids.has_value());
  for (int layer = 0; layer < options.layers; ++layer) {
    RC_ASSERT(counts->expert_counts(layer) == ids->expert_counts(layer));
    for (std::int64_t token = 0; token < options.tokens; ++token) {
      std::set<std::int64_t> experts;
      for (int slot = 0; slot < options.top_k; ++slot) experts.insert(ids->id(layer, token, slot));
      RC_ASSERT(std::ssize(experts) == options.top_k);
      RC_ASSERT(*experts.begin() >= 0);
    }
  }
}

TEST(GeneratorTest, RefusesBadShapesByName) {
  EXPECT_EQ(generate_counts({.layers = 0}).error().field, "layers");
  EXPECT_EQ(generate_counts({.experts = 0}).error().field, "experts");
  EXPECT_EQ(generate_ids({.experts = 4, .top_k = 5}).error().field, "top_k");
  EXPECT_EQ(generate_ids({.tokens = -1}).error().field, "tokens");
  EXPECT_EQ(generate_ids({.tokens = INT64_MAX}).error().field, "tokens");
}

}  // namespace
}  // namespace railwave::workload
