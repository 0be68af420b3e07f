// When an earlier answer no longer holds (draft section 6.2).
#include "plan/mode_selector.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railwave::plan {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

ModeModel model() { return {7168, {256, Per::Total}, 8, 88'080'384, 14336, 14336}; }
ModeLoad load(std::int64_t tokens) { return {{tokens, Per::Worker}, {}}; }

class ModeSelectorTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(selector_.select(topology_, model(), load(4096))); }
  /// The one trigger that there must be.
  Reevaluation only(const Topology& topology, const ModeModel& changed, const ModeLoad& now) {
    const auto found = selector_.triggers(topology, changed, now);
    EXPECT_EQ(found.size(), 1U);
    return found.empty() ? Reevaluation{ReevaluationTrigger::Initialisation, "none"} : found[0];
  }
  Topology topology_ = Topology::uniform(4, 8, 8).value();
  ModeSelector selector_;
};

TEST_F(ModeSelectorTest, InitialisationComesFirst) {
  ModeSelector fresh;
  EXPECT_FALSE(fresh.last());
  const auto found = fresh.triggers(topology_, model(), load(4096));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].trigger, ReevaluationTrigger::Initialisation);
}

TEST_F(ModeSelectorTest, TheSameQuestionHasTheSameAnswer) {
  EXPECT_THAT(selector_.triggers(topology_, model(), load(4096)), IsEmpty());
  ASSERT_TRUE(selector_.last());
  EXPECT_EQ(selector_.last()->mode, Mode::ExpertCentric);
}

TEST_F(ModeSelectorTest, NodesAddedOrRemoved) {
  const auto found = selector_.triggers(Topology::uniform(3, 8, 8).value(), model(), load(4096));
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].trigger, ReevaluationTrigger::TopologyChange);
  EXPECT_EQ(found[0].reason, "nodes 4 -> 3");
  EXPECT_EQ(found[1].reason, "ranks 32 -> 24");
  const auto fewer = only(Topology::uniform(4, 7, 8).value(), model(), load(4096));
  EXPECT_EQ(fewer.trigger, ReevaluationTrigger::TopologyChange);
}

TEST_F(ModeSelectorTest, ARailThatGoesDownIsAnotherTopology) {
  Topology::Options options{std::vector<int>(4, 8), 8};
  options.live.assign(4, std::vector<bool>(8, true));
  EXPECT_THAT(selector_.triggers(Topology::create(options).value(), model(), load(4096)),
              IsEmpty());
  options.live[2][5] = false;
  const auto found = only(Topology::create(options).value(), model(), load(4096));
  EXPECT_EQ(found.trigger, ReevaluationTrigger::TopologyChange);
  EXPECT_THAT(found.reason, HasSubstr("which of them are up"));
}

TEST_F(ModeSelectorTest, EveryFieldOfTheModelCounts) {
  const auto reason = [&](auto change) {
    ModeModel changed = model();
    change(changed);
    const auto found = only(topology_, changed, load(4096));
    EXPECT_EQ(found.trigger, ReevaluationTrigger::ModelChange);
    return found.reason;
  };
  EXPECT_EQ(reason([](ModeModel& m) { m.hidden = 4096; }), "hidden 7168 -> 4096");
  EXPECT_EQ(reason([](ModeModel& m) { m.experts.value = 128; }), "experts 256 -> 128");
  EXPECT_EQ(reason([](ModeModel& m) {
              m.experts = {8, Per::Worker};
            }),
            "experts 256 -> 8 per worker");
  EXPECT_EQ(reason([](ModeModel& m) { m.top_k = 6; }), "top_k 8 -> 6");
  EXPECT_EQ(reason([](ModeModel& m) { m.expert_bytes = 1; }), "expert_bytes 88080384 -> 1");
  EXPECT_EQ(reason([](ModeModel& m) { m.dispatch_row_bytes = 7392; }),
            "dispatch_row_bytes 14336 -> 7392");
  EXPECT_EQ(reason([](ModeModel& m) { m.return_row_bytes = 1; }), "return_row_bytes 14336 -> 1");
}

TEST_F(ModeSelectorTest, ALoadCountsWhenItTurnsTheAnswer) {
  const auto from = static_cast<std::int64_t>(*selector_.last()->tokens_from);
  EXPECT_THAT(selector_.triggers(topology_, model(), load(0)), IsEmpty());
  EXPECT_THAT(selector_.triggers(topology_, model(), load(from - 1)), IsEmpty());
  const auto found = only(topology_, model(), load(from));
  EXPECT_EQ(found.trigger, ReevaluationTrigger::ModelChange);
  EXPECT_THAT(found.reason, HasSubstr("expert-centric -> data-centric"));
  // In all instead of per worker is the same load.
  EXPECT_THAT(selector_.triggers(topology_, model(), {{32 * (from - 1), Per::Total}, {}}),
              IsEmpty());
  EXPECT_EQ(selector_.triggers(topology_, model(), load(-1)).size(), 1U);
}

TEST_F(ModeSelectorTest, AnErrorLeavesTheAnswerBefore) {
  EXPECT_FALSE(selector_.select(topology_, model(), load(-1)));
  EXPECT_THAT(selector_.triggers(topology_, model(), load(4096)), IsEmpty());
  const auto more = Topology::uniform(5, 8, 8).value();
  ASSERT_TRUE(selector_.select(more, model(), load(4096)));
  EXPECT_THAT(selector_.triggers(more, model(), load(4096)), IsEmpty());
  EXPECT_EQ(selector_.triggers(topology_, model(), load(4096)).size(), 2U);
}

}  // namespace
}  // namespace railwave::plan
