// Start gates one at a time: who may start, whom to tell, when a gate is settled.
#include "sched/start_gate.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace {

using railwave::NodeId;
using railwave::StartPolicy;
using railwave::sched::GateShape;
using railwave::sched::StartGate;

std::vector<NodeId> nodes(std::initializer_list<int> values) {
  std::vector<NodeId> out;
  for (const int value : values) out.emplace_back(value);
  return out;
}

/// Four nodes in three waves, 10 bytes for each pair; seen from node 0.
GateShape waves_of_four() {
  GateShape shape;
  shape.self = NodeId(0);
  shape.windows = 3;
  shape.incoming.assign(4, {10, 10, 10});
  shape.senders = {{NodeId(3)}, {NodeId(2)}, {NodeId(1)}};
  shape.receivers = {{NodeId(1)}, {NodeId(2)}, {NodeId(3)}};
  shape.last_sending.assign(4, 2);
  return shape;
}

TEST(StartGate, FreeStartsAtOnceAndTellsNobody) {
  StartGate gate(StartPolicy::Free, waves_of_four());
  EXPECT_TRUE(gate.may_send(2, NodeId(3)));
  EXPECT_TRUE(gate.blockers(2, NodeId(3)).empty());
  EXPECT_FALSE(gate.settled());
  gate.reached(NodeId(0), 3);
  EXPECT_TRUE(gate.to_tell(0).empty());
  EXPECT_TRUE(gate.settled());
}

TEST(StartGate, BarrierWaitsForEveryNode) {
  for (const StartPolicy policy : {StartPolicy::RailBarrier, StartPolicy::Submission}) {
    StartGate gate(policy, waves_of_four());
    EXPECT_TRUE(gate.may_send(0, NodeId(1)));
    for (const int node : {0, 1, 3}) gate.reached(NodeId(node), 1);
    EXPECT_FALSE(gate.may_send(1, NodeId(2)));
    EXPECT_EQ(gate.blockers(1, NodeId(2)), nodes({2}));
    gate.reached(NodeId(2), 1);
    EXPECT_TRUE(gate.may_send(1, NodeId(2)));
    EXPECT_FALSE(gate.may_send(2, NodeId(3)));
    EXPECT_EQ(gate.blockers(2, NodeId(3)), nodes({0, 1, 2, 3}));
  }
}

TEST(StartGate, GrantWaitsForTheReceiverAlone) {
  StartGate gate(StartPolicy::Grant, waves_of_four());
  EXPECT_TRUE(gate.may_send(0, NodeId(1)));
  EXPECT_FALSE(gate.may_send(1, NodeId(2)));
  EXPECT_EQ(gate.blockers(1, NodeId(2)), nodes({2}));
  gate.reached(NodeId(2), 1);
  EXPECT_TRUE(gate.may_send(1, NodeId(2)));
  EXPECT_FALSE(gate.may_send(2, NodeId(3)));
}

TEST(StartGate, LevelsOnlyRise) {
  StartGate gate(StartPolicy::Grant, waves_of_four());
  gate.reached(NodeId(2), 2);
  gate.reached(NodeId(2), 1);
  EXPECT_EQ(gate.level(NodeId(2)), 2);
}

TEST(StartGate, GrantTellsTheSendersOfEveryWindowThatALevelPasses) {
  StartGate gate(StartPolicy::Grant, waves_of_four());
  gate.reached(NodeId(0), 1);
  EXPECT_EQ(gate.to_tell(0), nodes({2}));
  gate.reached(NodeId(0), 2);
  EXPECT_EQ(gate.to_tell(1), nodes({1}));
  EXPECT_EQ(gate.to_tell(0), nodes({1, 2})) << "a jump by two windows";
  gate.reached(NodeId(0), 3);
  EXPECT_TRUE(gate.to_tell(2).empty()) << "there is no window 3";
  EXPECT_TRUE(gate.to_tell(3).empty()) << "nothing rose";
}

TEST(StartGate, BarrierTellsTheOthersThatStillSend) {
  GateShape shape = waves_of_four();
  shape.last_sending = {2, 0, 1, -1};
  StartGate gate(StartPolicy::RailBarrier, shape);
  gate.reached(NodeId(0), 1);
  EXPECT_EQ(gate.to_tell(0), nodes({2})) << "node 1 sends in window 0 only, node 3 never";
  gate.reached(NodeId(0), 2);
  EXPECT_TRUE(gate.to_tell(1).empty());
}

TEST(StartGate, NodesWithoutPartOrBytesHoldNobodyUp) {
  GateShape shape = waves_of_four();
  shape.incoming[1].clear();
  shape.incoming[2] = {0, 0, 0};
  shape.incoming[3] = {0, 10, 0};
  StartGate gate(StartPolicy::RailBarrier, shape);
  EXPECT_EQ(gate.level(NodeId(1)), 3);
  EXPECT_EQ(gate.level(NodeId(2)), 3);
  EXPECT_EQ(gate.level(NodeId(3)), 1);
  EXPECT_EQ(gate.blockers(1, NodeId(2)), nodes({0}));
}

TEST(StartGate, SettlesWhenAllIsReceivedAndMayBeSent) {
  StartGate grant(StartPolicy::Grant, waves_of_four());
  grant.reached(NodeId(0), 3);
  grant.reached(NodeId(2), 1);
  EXPECT_FALSE(grant.settled()) << "node 3 has not granted window 2";
  grant.reached(NodeId(3), 2);
  EXPECT_TRUE(grant.settled());
  StartGate barrier(StartPolicy::RailBarrier, waves_of_four());
  for (const int node : {1, 2, 3}) barrier.reached(NodeId(node), 2);
  EXPECT_FALSE(barrier.settled());
  barrier.reached(NodeId(0), 3);
  EXPECT_TRUE(barrier.settled());
}

/// The phase after this one waits for the last window: its level is told to all, and may_send() of
/// the window after the last says whether it may begin.
TEST(StartGate, TellsTheLastLevelWhereAnotherPhaseMayFollow) {
  for (const StartPolicy policy : {StartPolicy::RailBarrier, StartPolicy::Grant}) {
    StartGate alone(policy, waves_of_four());
    alone.reached(NodeId(0), 3);
    EXPECT_TRUE(alone.to_tell(2).empty()) << "nobody waits for it";
    StartGate followed(policy, waves_of_four(), true);
    followed.reached(NodeId(0), 3);
    EXPECT_EQ(followed.to_tell(2), nodes({1, 2, 3}));
    EXPECT_FALSE(followed.may_send(3, NodeId(2)));
    followed.reached(NodeId(2), 3);
    EXPECT_EQ(followed.may_send(3, NodeId(2)), policy == StartPolicy::Grant);
    EXPECT_EQ(followed.blockers(3, NodeId(1)),
              policy == StartPolicy::Grant ? nodes({1}) : nodes({1, 3}));
    for (const int node : {1, 3}) followed.reached(NodeId(node), 3);
    EXPECT_TRUE(followed.may_send(3, NodeId(1)));
  }
  StartGate free(StartPolicy::Free, waves_of_four(), true);
  free.reached(NodeId(0), 3);
  EXPECT_TRUE(free.to_tell(0).empty());
  EXPECT_TRUE(free.may_send(3, NodeId(1)));
}

TEST(StartGate, WithoutWindowsIsSettled) {
  GateShape shape;
  shape.self = NodeId(0);
  shape.incoming.assign(2, {});
  shape.last_sending.assign(2, -1);
  for (const StartPolicy policy :
       {StartPolicy::Submission, StartPolicy::Free, StartPolicy::RailBarrier, StartPolicy::Grant}) {
    EXPECT_TRUE(StartGate(policy, shape).settled());
  }
}

}  // namespace
