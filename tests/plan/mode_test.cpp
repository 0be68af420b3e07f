// Mode selection: figures worked out by hand, ties, thresholds, sizes of any length.
#include "plan/mode.hpp"

#include <gtest/gtest.h>

namespace railwave::plan {
namespace {

/// 2 nodes of 2 workers, H = 4, 8 experts, K = 2, 10 tokens.
ModeInputs small() {
  ModeInputs in;
  in.nodes = 2;
  in.workers = 4;
  in.model = {4, {8, Per::Total}, 2, 100, 8, 16};
  in.load.tokens = {10, Per::Total};
  return in;
}

ModeDecision decide(ModeFormula formula, const ModeInputs& in) {
  const auto decision = select_mode(formula, in);
  if (!decision) ADD_FAILURE() << to_string(decision.error());
  return *decision;
}

TEST(Mode, DraftAsPrinted) {
  // T = 20. C_dc = 8*4*8*2*1 = 512, C_ec = 2*2*4*20*1/2 = 160.
  const auto d = decide(ModeFormula::Draft, small());
  EXPECT_EQ(d.mode, Mode::ExpertCentric);
  EXPECT_EQ(decimal(d.data_centric), "512");
  EXPECT_EQ(decimal(d.expert_centric), "160");
  EXPECT_EQ(decimal(d.expert_size), "128");
  EXPECT_EQ(decimal(d.data_size), "160");
  // 16 a token: 32 tokens are a tie. 64 an expert: 3 experts are 192, 2 are 128.
  EXPECT_EQ(decimal(*d.tokens_from), "33");
  EXPECT_EQ(decimal(*d.experts_to), "2");
  EXPECT_FALSE(d.expert_bytes_to);
}

TEST(Mode, DraftTakesCountsAsTheyAreGiven) {
  ModeInputs in = small();
  in.model.experts.per = Per::Worker;
  in.load.tokens.per = Per::Worker;
  EXPECT_EQ(decimal(decide(ModeFormula::Draft, in).data_centric), "512");
  EXPECT_EQ(decimal(decide(ModeFormula::Draft, in).expert_centric), "160");
}

TEST(Mode, DraftH2SharesTotalsBetweenTheWorkers) {
  // E_w = 2, T_w = 5. C_dc = 8*16*2*2*1 = 512, C_ec = 2*2*4*5*1/2 = 40.
  auto in = small();
  const auto totals = decide(ModeFormula::DraftH2, in);
  EXPECT_EQ(decimal(totals.data_centric), "512");
  EXPECT_EQ(decimal(totals.expert_centric), "40");
  EXPECT_EQ(decimal(totals.data_size), "40");
  EXPECT_EQ(decimal(*totals.tokens_from), "129");
  in.model.experts = {2, Per::Worker};
  in.load.tokens = {129, Per::Worker};
  const auto each = decide(ModeFormula::DraftH2, in);
  EXPECT_EQ(decimal(each.data_centric), "512");
  EXPECT_EQ(decimal(each.expert_centric), "2064");
  EXPECT_EQ(decimal(*each.tokens_from), "33");
  EXPECT_EQ(each.mode, Mode::DataCentric);
}

TEST(Mode, CountsThatDoNotDivideAreFractions) {
  auto in = small();
  in.workers = 3;  // m = 3/2, E_w = 8/3, T_w = 20/3
  const auto d = decide(ModeFormula::DraftH2, in);
  EXPECT_EQ(decimal(d.data_centric), "512");
  EXPECT_EQ(decimal(d.expert_centric), "40");
  EXPECT_EQ(decimal(d.data_size), "160/3");
}

TEST(Mode, BytesFetchEveryForeignExpertOnceAndSendEveryRowTwice) {
  auto in = small();
  in.load.remote_nodes = Ratio{3, 4};
  // C_dc = 100*8*1/2 = 400, 4 for each byte of an expert; C_ec = 10/2 * 3/4 * 24 = 90, 9 a token.
  const auto d = decide(ModeFormula::Bytes, in);
  EXPECT_EQ(d.mode, Mode::ExpertCentric);
  EXPECT_EQ(decimal(d.data_centric), "400");
  EXPECT_EQ(decimal(d.expert_centric), "90");
  EXPECT_EQ(decimal(*d.tokens_from), "45");
  EXPECT_EQ(decimal(*d.expert_bytes_to), "22");
  EXPECT_FALSE(d.experts_to);
  in.model.experts = {2, Per::Worker};
  in.load.tokens = {12, Per::Worker};  // 48 in all
  const auto more = decide(ModeFormula::Bytes, in);
  EXPECT_EQ(more.mode, Mode::DataCentric);
  EXPECT_EQ(decimal(more.data_centric), "400");
  EXPECT_EQ(decimal(more.expert_centric), "432");
  EXPECT_EQ(decimal(*more.tokens_from), "12");  // 44.44 in all are 11.1 a worker
}

TEST(Mode, TiesAndOneNodeAreExpertCentric) {
  for (const ModeFormula formula : kAllModeFormulas) {
    auto in = small();
    in.load.remote_nodes = Ratio{1, 1};
    const auto from = *decide(formula, in).tokens_from;
    in.load.tokens.value = static_cast<std::int64_t>(from);
    EXPECT_EQ(decide(formula, in).mode, Mode::DataCentric);
    --in.load.tokens.value;
    const auto below = decide(formula, in);
    EXPECT_EQ(below.mode, Mode::ExpertCentric);
    if (formula != ModeFormula::Bytes) {
      EXPECT_EQ(below.data_centric, below.expert_centric);
    }

    in = small();
    in.nodes = 1;
    in.load.tokens.value = 1'000'000'000;
    const auto alone = decide(formula, in);
    EXPECT_EQ(alone.mode, Mode::ExpertCentric);
    EXPECT_EQ(alone.data_centric, (Fraction{0, 1}));
    EXPECT_FALSE(alone.tokens_from);
    EXPECT_FALSE(alone.experts_to);
    EXPECT_FALSE(alone.expert_bytes_to);
  }
}

TEST(Mode, NoTokensAreExpertCentric) {
  auto in = small();
  in.load.tokens.value = 0;
  for (const ModeFormula formula : kAllModeFormulas) {
    const auto d = decide(formula, in);
    EXPECT_EQ(d.mode, Mode::ExpertCentric);
    EXPECT_FALSE(d.experts_to);
    EXPECT_TRUE(d.tokens_from);
  }
}

TEST(Mode, ExpectedRemoteNodes) {
  const auto expected = [](std::int64_t n, std::int64_t e, std::int64_t k) {
    return decimal(expected_remote_nodes(n, e, k).value());
  };
  EXPECT_EQ(expected(1, 8, 2), "0");
  EXPECT_EQ(expected(4, 8, 1), "3/4");
  EXPECT_EQ(expected(4, 8, 8), "3");
  // 2 nodes of 2 experts, K = 2: one node is missed with 1/6, so 2 * 5/6 / 2.
  EXPECT_EQ(expected(2, 4, 2), "5/6");
  EXPECT_EQ(expected(2, 8, 2), "11/14");
  // 3 experts on 2 nodes, K = 1: 2/3 and 1/3.
  EXPECT_EQ(expected(2, 3, 1), "1/2");
  // One expert for 4 nodes: it is foreign to three of four tokens.
  EXPECT_EQ(expected(4, 1, 1), "3/4");
  EXPECT_EQ(expected(1'000'000, 1LL << 40, 1), "999999/1000000");
}

/// Even routing: f is 2/3 and 11/14, and both volumes are 96 and 176 bytes.
TEST(Mode, TiesOfEvenRoutingAreExpertCentric) {
  ModeInputs in;
  in.nodes = 3;
  in.workers = 3;
  in.model = {4, {9, Per::Total}, 1, 16, 8, 8};
  in.load.tokens = {27, Per::Total};
  const auto thirds = decide(ModeFormula::Bytes, in);
  EXPECT_EQ(thirds.mode, Mode::ExpertCentric);
  EXPECT_EQ(decimal(thirds.data_centric), "96");
  EXPECT_EQ(decimal(thirds.expert_centric), "96");
  EXPECT_EQ(decimal(thirds.remote_nodes), "2/3");
  EXPECT_EQ(decimal(*thirds.tokens_from), "28");
  EXPECT_EQ(decimal(*thirds.expert_bytes_to), "15");
  in.nodes = 2;
  in.workers = 2;
  in.model = {4, {8, Per::Total}, 2, 44, 8, 8};
  in.load.tokens = {28, Per::Total};
  const auto fourteenths = decide(ModeFormula::Bytes, in);
  EXPECT_EQ(fourteenths.mode, Mode::ExpertCentric);
  EXPECT_EQ(decimal(fourteenths.expert_centric), "176");
  EXPECT_EQ(decimal(*fourteenths.tokens_from), "29");
}

/// 1,000 experts and top-50 on 16 nodes: the mean has a denominator beyond 128 bits.
TEST(Mode, LongFractionsAreExact) {
  auto in = small();
  in.nodes = 16;
  in.workers = 128;
  in.model.experts.value = 1000;
  in.model.top_k = 50;
  const auto d = decide(ModeFormula::Bytes, in);
  EXPECT_GT(d.remote_nodes.den, Wide(1) << 128);
  EXPECT_NEAR(d.remote_nodes.value(), 14.4529, 0.0001);
  in.load.tokens.value = static_cast<std::int64_t>(*d.tokens_from);
  EXPECT_EQ(decide(ModeFormula::Bytes, in).mode, Mode::DataCentric);
  --in.load.tokens.value;
  EXPECT_EQ(decide(ModeFormula::Bytes, in).mode, Mode::ExpertCentric);
}

TEST(Mode, AMeanThatNobodyCanWriteIsRefused) {
  ModeInputs in = small();
  in.model.experts.value = 1LL << 40;
  in.model.top_k = 1000;
  const auto refused = select_mode(ModeFormula::Bytes, in);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().field, "remote_nodes");
  in.load.remote_nodes = Ratio{1, 2};
  EXPECT_TRUE(select_mode(ModeFormula::Bytes, in));
}

TEST(Mode, SizesOf64BitsAreExact) {
  ModeInputs in;
  in.nodes = 1'000'000;
  in.workers = 8'000'000;
  in.model = {1 << 20, {1 << 20, Per::Worker}, 8, 1LL << 40, 1 << 21, 1 << 21};
  in.load.tokens = {1LL << 40, Per::Worker};
  // 8 * 2^40 * 2^20 * 8 * 999,999 = 2^66 * 999,999.
  EXPECT_EQ(decimal(decide(ModeFormula::DraftH2, in).data_centric), "73786902507861911625793536");
  in.model.hidden = INT64_MAX;
  // (2^63 - 1)^2 is 2^126 - 2^64 + 1: times 2^26 * 999,999 it is beyond 128 bits.
  EXPECT_EQ(decide(ModeFormula::DraftH2, in).data_centric.num,
            ((Wide(1) << 126) - (Wide(1) << 64) + 1) * (Wide(1) << 26) * 999'999);
}

/// A token of K slots reaches at most K other nodes.
TEST(Mode, RemoteNodesAreAtMostTheSlots) {
  auto in = small();
  in.nodes = 4;
  in.load.remote_nodes = Ratio{2'000'000, 1'000'000};
  EXPECT_TRUE(select_mode(ModeFormula::Bytes, in));
  in.load.remote_nodes = Ratio{2'000'001, 1'000'000};
  const auto refused = select_mode(ModeFormula::Bytes, in);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().field, "remote_nodes");
  EXPECT_EQ(refused.error().message,
            "a token reaches 2.000001 remote nodes, expected 0 to 2: it has 2 experts, and there "
            "are 3 other nodes");
}

TEST(Mode, FieldsOutOfRangeAreNamed) {
  const auto field = [](auto change) {
    auto in = small();
    change(in);
    const auto decision = select_mode(ModeFormula::Bytes, in);
    return decision ? std::string("none") : decision.error().field;
  };
  EXPECT_EQ(field([](ModeInputs& in) { in.nodes = 0; }), "nodes");
  EXPECT_EQ(field([](ModeInputs& in) { in.workers = 1; }), "workers");
  EXPECT_EQ(field([](ModeInputs& in) { in.workers = 1LL << 31; }), "workers");
  EXPECT_EQ(field([](ModeInputs& in) { in.model.hidden = 0; }), "hidden");
  EXPECT_EQ(field([](ModeInputs& in) { in.model.experts.value = 0; }), "experts");
  EXPECT_EQ(field([](ModeInputs& in) { in.model.experts = {INT64_MAX, Per::Worker}; }), "experts");
  EXPECT_EQ(field([](ModeInputs& in) { in.model.top_k = 0; }), "top_k");
  EXPECT_EQ(field([](ModeInputs& in) { in.model.top_k = 9; }), "top_k");
  EXPECT_EQ(field([](ModeInputs& in) { in.load.tokens.value = -1; }), "tokens");
  EXPECT_EQ(field([](ModeInputs& in) { in.model.expert_bytes = 0; }), "expert_bytes");
  EXPECT_EQ(field([](ModeInputs& in) { in.model.dispatch_row_bytes = 0; }), "dispatch_row_bytes");
  EXPECT_EQ(field([](ModeInputs& in) { in.model.return_row_bytes = 0; }), "return_row_bytes");
  for (const Ratio bad : {Ratio{2, 1}, Ratio{-1, 1}, Ratio{1, 0}}) {
    EXPECT_EQ(field([&](ModeInputs& in) { in.load.remote_nodes = bad; }), "remote_nodes");
  }
  EXPECT_EQ(field([](ModeInputs&) {}), "none");
}

}  // namespace
}  // namespace railwave::plan
