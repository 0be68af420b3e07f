// What the gates are told is planned is what the streams will carry.
#include "exec/gate_shapes.hpp"

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "exec/streams.hpp"
#include "group/random_phase.hpp"

namespace {

using railwave::NodeId;
using railwave::RailId;
using railwave::Topology;
using railwave::exec::ChunkShape;
using railwave::exec::Operation;
using railwave::exec::PhaseLoads;
using railwave::exec::Stream;
using railwave::plan::DispatchPlan;
using railwave::sched::GateShape;

constexpr std::int64_t kRow = 24;

DispatchPlan draw(std::uint64_t seed) {
  const phases::Shape shape = phases::draw(seed);
  const Topology topology = *Topology::create(shape.cluster);
  std::mt19937_64 rng(seed);
  std::vector<std::int64_t> records;
  for (int i = 0; i < topology.ranks() * topology.nodes(); ++i) {
    records.push_back(rng() % 3 == 0 ? 0 : static_cast<std::int64_t>(rng() % 12));
  }
  return *DispatchPlan::create(topology, railwave::RailCounts::from_ranks(topology, records),
                               {railwave::kAllPaths[seed % 4], shape.windows});
}

/// The rail on which `self` meets `node`, seen from `node`; -1: they do not meet there.
int number_at(const Topology& topology, NodeId self, RailId rail, NodeId node) {
  if (node == self) return rail.value;
  const auto eligible = topology.eligible(self, node);
  const bool meet = std::find(eligible.begin(), eligible.end(), rail) != eligible.end();
  return meet ? topology.ingress(self, node, rail).value : -1;
}

/// The shape of one rail (or, `rail` -1, of all) from the streams of every node.
GateShape from_streams(const DispatchPlan& plan, Operation direction, NodeId self, int rail) {
  const Topology& topology = plan.topology();
  const auto nodes = static_cast<std::size_t>(topology.nodes());
  const std::size_t windows = plan.windows().size();
  GateShape shape;
  shape.incoming.assign(nodes, std::pmr::vector<std::int64_t>(windows, 0));
  shape.last_sending.assign(nodes, -1);
  std::vector<std::set<NodeId>> senders(windows);
  std::vector<std::set<NodeId>> receivers(windows);
  const auto on_rail = [&](NodeId node, RailId at) {
    return rail < 0 || number_at(topology, self, RailId(rail), node) == at.value;
  };
  for (std::size_t n = 0; n < nodes; ++n) {
    const auto streams =
        railwave::exec::node_streams(plan, NodeId(n), direction, ChunkShape::of(0, kRow, 100));
    for (const Stream& s : streams.inbound) {
      const NodeId from = topology.node_of(s.sender);
      if (on_rail(NodeId(n), s.receiver_rail)) {
        shape.incoming[n][s.window] += s.records * kRow;
        if (NodeId(n) == self) senders[s.window].insert(from);
      }
      if (!on_rail(from, s.sender_rail)) continue;
      shape.last_sending[from.index()] =
          std::max(shape.last_sending[from.index()], static_cast<int>(s.window));
      if (from == self) receivers[s.window].insert(NodeId(n));
    }
    if (rail >= 0 && number_at(topology, self, RailId(rail), NodeId(n)) < 0) {
      shape.incoming[n].clear();
    }
  }
  for (std::size_t w = 0; w < windows; ++w) {
    shape.senders.emplace_back(senders[w].begin(), senders[w].end());
    shape.receivers.emplace_back(receivers[w].begin(), receivers[w].end());
  }
  return shape;
}

void expect_same(const GateShape& got, const GateShape& want) {
  EXPECT_EQ(got.incoming, want.incoming);
  EXPECT_EQ(got.senders, want.senders);
  EXPECT_EQ(got.receivers, want.receivers);
  EXPECT_EQ(got.last_sending, want.last_sending);
}

TEST(GateShapes, AreTheSumsOfTheStreams) {
  for (std::uint64_t seed = 1; seed <= 60 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    const DispatchPlan plan = draw(seed);
    for (const Operation direction : {Operation::Dispatch, Operation::Combine}) {
      const PhaseLoads loads(plan, direction, kRow);
      for (int n = 0; n < plan.topology().nodes(); ++n) {
        const NodeId self(n);
        const GateShape whole = loads.node_gate(self);
        EXPECT_EQ(whole.self, self);
        EXPECT_EQ(whole.windows, static_cast<int>(plan.windows().size()));
        expect_same(whole, from_streams(plan, direction, self, -1));
        for (int r = 0; r < plan.topology().rails(); ++r) {
          if (!plan.topology().live(self, RailId(r))) continue;
          expect_same(loads.rail_gate(self, RailId(r)), from_streams(plan, direction, self, r));
        }
      }
    }
  }
}

}  // namespace
