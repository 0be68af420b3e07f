#include "comm/cases/rank.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "comm/cases/bodies.hpp"
#include "group/elements.hpp"

namespace cases {

std::string Shape::name() const {
  std::string out;
  for (const int ranks : ranks_per_node) out += std::to_string(ranks) + "_";
  out += "rails" + std::to_string(rails);
  for (const auto& node : live) {
    out += "_";
    for (const bool up : node) out += up ? "1" : "0";
  }
  return out;
}

namespace {

// One node (shared memory only), one rail, several rails.
const std::vector<Shape> kTwoRanks{{{2}, 1}, {{1, 1}, 1}, {{1, 1}, 3}};
const std::vector<Shape> kThreeRanks{{{3}, 1}, {{2, 1}, 1}, {{1, 1, 1}, 3}};
const std::vector<Shape> kFourRanks{{{4}, 1}, {{2, 2}, 1}, {{2, 2}, 4}, {{1, 3}, 3}};
// Two ranks of node 1 drive no rail: they hear from nobody but their neighbours.
const Shape kMissingRail{
    {4, 4, 4, 4}, 2, {{true, true}, {true, false}, {true, true}, {true, true}}};

}  // namespace

const std::vector<Case>& all_cases() {
  static const std::vector<Case> cases{
      {"d01_zero_tokens", kFourRanks, d01_zero_tokens},
      {"d03_masked_slots", kTwoRanks, d03_masked_slots},
      {"d04_expert_out_of_range", kFourRanks, d04_expert_out_of_range},
      {"d05_expert_twice", kTwoRanks, d05_expert_twice},
      {"d06_one_expert", {{{1, 1, 1, 1}, 2}}, d06_one_expert},
      {"d07_too_many_tokens", kTwoRanks, d07_too_many_tokens},
      {"d08_offsets_beyond_32_bits", {{{1, 1}, 1}}, d08_offsets_beyond_32_bits},
      {"d09_odd_hidden", kTwoRanks, d09_odd_hidden},
      {"d10_settings_differ", kThreeRanks, d10_settings_differ},
      {"d10_calls_differ", kThreeRanks, d10_calls_differ},
      {"d11_uneven_experts", kFourRanks, d11_uneven_experts},
      {"d11_top_k_beyond_experts", kTwoRanks, d11_top_k_beyond_experts},
      {"d11_fewer_experts_than_ranks", kFourRanks, d11_fewer_experts_than_ranks},
      {"d12_one_rank", {{{1}, 1}}, d12_one_rank},
      {"d12_one_node", {{{4}, 2}}, d12_one_node},
      {"d12_one_rail", {{{2, 2}, 1}}, d12_one_rail},
      {"d17_handles", kTwoRanks, d17_handles},
      {"d17_repeated_dispatch", kTwoRanks, d17_repeated_dispatch},
      {"weights_and_scales", kTwoRanks, weights_and_scales},
      {"d17_handle_of_another_group", kTwoRanks, d17_handle_of_another_group},
      {"d18_smaller_after_larger", kTwoRanks, d18_smaller_after_larger},
      {"d22_same_bits", kFourRanks, d22_same_bits},
      {"d23_special_values", kTwoRanks, d23_special_values},
      {"replicas", kFourRanks, replicas},
      {"replicas_differ", kFourRanks, replicas_differ},
      {"leave_at_once", {kMissingRail}, leave_at_once}};
  return cases;
}

const Case& case_named(std::string_view name) {
  const auto at = std::find_if(all_cases().begin(), all_cases().end(),
                               [&](const Case& one) { return one.name == name; });
  return *at;
}

void Bits::add(std::span<const std::byte> bytes) {
  for (const std::byte b : bytes) value_ = phases::mix(value_ ^ static_cast<std::uint64_t>(b));
}

void on_all_paths(Rank& rank, const std::function<void(Path, Bits&)>& body) {
  std::uint64_t first = 0;
  for (const Path path : rank.paths) {
    Bits bits;
    body(path, bits);
    if (testing::Test::HasFailure()) return;
    if (path == rank.paths.front()) first = bits.value();
    EXPECT_EQ(bits.value(), first) << "rank " << rank.self.value << ", path " << to_string(path)
                                   << " and path " << to_string(rank.paths.front());
  }
  rank.bits = phases::mix(rank.bits ^ first);
}

std::string Variant::name() const {
  return std::string(to_string(sent)) + " " + std::string(to_string(layout));
}

void on_all_variants(Rank& rank, const std::function<void(Path, const Variant&, Bits&)>& body) {
  for (const DType sent : {DType::FP32, DType::BF16, DType::FP16, DType::FP8E4M3}) {
    for (const RowLayout layout : {RowLayout::RankMajor, RowLayout::ExpertMajor}) {
      const Variant variant{sent, layout};
      SCOPED_TRACE(variant.name());
      on_all_paths(rank, [&](Path path, Bits& bits) { body(path, variant, bits); });
      if (testing::Test::HasFailure()) return;
    }
  }
}

CommunicatorOptions options_for(const Rank& rank, std::int64_t tokens, std::int64_t hidden,
                                DType dtype, int top_k) {
  CommunicatorOptions options;
  options.self = rank.self;
  options.max_tokens_per_rank = tokens;
  options.max_recv_rows = tokens * rank.topology.ranks() * top_k + 64;  // and padding
  options.max_hidden = hidden;
  options.widest_dtype = dtype;
  options.max_top_k = top_k;
  options.deadlines = {std::chrono::seconds(20), std::chrono::seconds(10),
                       std::chrono::seconds(10)};
  return options;
}

}  // namespace cases
