#include "exec/gate_keeper.hpp"

#include <algorithm>
#include <utility>

#include "base/fail.hpp"
#include "transport/shared_word.hpp"

namespace railwave::exec {

using transport::FrameHeader;
using transport::FrameKind;

GateKeeper::GateKeeper(Setup setup)
    : setup_(std::move(setup)),
      gate_(setup_.policy, std::move(setup_.shape), setup_.tell_last),
      told_(gate_.level(gate_.shape().self)),
      levels_(setup_.memory),
      heard_(setup_.memory),
      voices_(setup_.memory),
      fellows_(setup_.memory) {
  find_words();
  find_voices();
}

void GateKeeper::find_words() {
  const Topology& topology = setup_.engine->topology();
  const NodeId self = setup_.engine->node();
  const auto level_word = [&](int local, RailId rail) {
    return Word{local, setup_.maps[static_cast<std::size_t>(local)].level_word(setup_.step, rail)};
  };
  for (const RailId rail : setup_.rails) {
    for (const RankId driver : topology.drivers(self, rail)) {
      levels_.push_back(level_word(topology.local_of(driver), rail));
      fellows_.push_back(topology.local_of(driver));
    }
  }
  std::sort(fellows_.begin(), fellows_.end());
  fellows_.erase(std::unique(fellows_.begin(), fellows_.end()), fellows_.end());
  std::erase(fellows_, setup_.engine->local());
  const bool whole_node = setup_.policy == StartPolicy::Submission;
  for (int n = 0; n < topology.nodes(); ++n) {
    RankId listener = topology.drivers(self, setup_.rails.front()).front();
    RailId rail = setup_.rails.front();
    if (whole_node && NodeId(n) != self) {
      const HeaderRoute route = header_route(topology, NodeId(n), self);
      listener = route.receiver;
      rail = topology.ingress(NodeId(n), self, route.sender_rail);
    }
    const int local = topology.local_of(listener);
    heard_.push_back({local, setup_.maps[static_cast<std::size_t>(local)].heard_word(
                                 setup_.step, rail, NodeId(n))});
  }
}

void GateKeeper::find_voices() {
  const Topology& topology = setup_.engine->topology();
  const NodeId self = setup_.engine->node();
  const RankId me = setup_.engine->self();
  const RailId rail = setup_.rails.front();
  voices_.assign(static_cast<std::size_t>(topology.nodes()), Voice{RailId(-1), RankId(-1)});
  for (int n = 0; n < topology.nodes(); ++n) {
    const NodeId node(n);
    if (node == self) continue;
    if (setup_.policy == StartPolicy::Submission) {
      const HeaderRoute route = header_route(topology, self, node);
      if (route.sender == me) voices_[node.index()] = {route.sender_rail, route.receiver};
      continue;
    }
    const auto eligible = topology.eligible(self, node);
    const bool reachable = std::find(eligible.begin(), eligible.end(), rail) != eligible.end();
    if (reachable && topology.drivers(self, rail).front() == me) {
      const RailId far = topology.ingress(self, node, rail);
      voices_[node.index()] = {rail, topology.drivers(node, far).front()};
    }
  }
}

int GateKeeper::observe(const Word& word) const {
  const std::byte* base = setup_.engine->fabric().segment(word.local).data();
  const std::uint64_t value =
      transport::observe(reinterpret_cast<const std::uint64_t*>(base + word.offset));
  // The place is a newer step's: every rank has finished this one.
  return is_of_later_step(value, setup_.step) ? gate_.shape().windows
                                              : untagged(value, setup_.step);
}

void GateKeeper::signal_fellows() {
  for (const int local : fellows_) setup_.engine->fabric().signal(local);
}

void GateKeeper::publish_level(RailId rail, int level) {
  const SegmentMap& map = setup_.maps[static_cast<std::size_t>(setup_.engine->local())];
  std::byte* at = setup_.engine->fabric().own().data() + map.level_word(setup_.step, rail);
  transport::publish(reinterpret_cast<std::uint64_t*>(at), tagged(setup_.step, level));
  signal_fellows();
}

void GateKeeper::heard(RailId rail, const FrameHeader& frame) {
  if (frame.window > static_cast<std::uint32_t>(gate_.shape().windows)) return;
  const Topology& topology = setup_.engine->topology();
  const NodeId node = topology.node_of(RankId(static_cast<std::int32_t>(frame.source)));
  const SegmentMap& map = setup_.maps[static_cast<std::size_t>(setup_.engine->local())];
  std::byte* at = setup_.engine->fabric().own().data() + map.heard_word(setup_.step, rail, node);
  auto* word = reinterpret_cast<std::uint64_t*>(at);
  const int level = static_cast<int>(frame.window);
  // Frames may arrive out of order; levels only rise.
  const std::uint64_t before = transport::observe(word);
  if (is_of_later_step(before, setup_.step) || untagged(before, setup_.step) >= level) return;
  transport::publish(word, tagged(setup_.step, level));
  signal_fellows();
}

Status GateKeeper::tell(NodeId node, int level) {
  const Voice& voice = voices_[node.index()];
  if (voice.rail.value < 0) return {};
  FrameHeader frame;
  frame.kind = setup_.policy == StartPolicy::Grant ? FrameKind::Grant : FrameKind::Received;
  frame.step = setup_.step;
  frame.window = static_cast<std::uint32_t>(level);
  frame.destination = static_cast<std::uint32_t>(voice.receiver.value);
  return setup_.engine->send(voice.rail, frame, {}, 0);
}

Result<bool> GateKeeper::refresh() {
  bool changed = false;
  const NodeId self = gate_.shape().self;
  int own = gate_.shape().windows;
  for (const Word& word : levels_) own = std::min(own, observe(word));
  if (own > told_) {
    gate_.reached(self, own);
    for (std::size_t n = 0; n < voices_.size(); ++n) {
      if (gate_.must_tell(NodeId(n), told_)) RAILWAVE_TRY(tell(NodeId(n), own));
    }
    told_ = own;
    changed = true;
  }
  for (std::size_t n = 0; n < heard_.size(); ++n) {
    if (NodeId(n) == self) continue;
    const int level = observe(heard_[n]);
    if (level <= gate_.level(NodeId(n))) continue;
    gate_.reached(NodeId(n), level);
    changed = true;
  }
  return changed;
}

}  // namespace railwave::exec
