#include "sched/tick_simulator.hpp"

#include <algorithm>
#include <set>

namespace ticks {

using railwave::NodeId;
using railwave::StartPolicy;
using railwave::sched::GateShape;
using railwave::sched::LevelCounter;
using railwave::sched::StartGate;

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace

Simulator::Simulator(const Scenario& scenario)
    : scenario_(scenario), rng_(scenario.seed), nodes_(static_cast<int>(scenario.drivers.size())) {
  for (const Flow& flow : scenario.flows) {
    const int senders = scenario.drivers[at(flow.source)];
    for (int i = 0; i < senders; ++i) {
      const std::int64_t bytes = (flow.bytes + senders - 1 - i) / senders;
      if (bytes == 0) continue;
      lanes_.push_back({flow.window, flow.source, i, flow.destination,
                        i % scenario.drivers[at(flow.destination)], bytes, bytes, bytes});
    }
  }
  for (int n = 0; n < nodes_; ++n) {
    gates_.emplace_back(scenario.policy, shape_of(n));
    levels_.emplace_back();
    for (int i = 0; i < scenario.drivers[at(n)]; ++i) {
      std::pmr::vector<std::int64_t> planned(at(scenario.windows), 0);
      for (const Lane& lane : lanes_) {
        if (lane.destination == n && lane.destination_driver == i) {
          planned[at(lane.window)] += lane.planned;
        }
      }
      levels_.back().emplace_back(planned);
    }
    told_.push_back(gates_.back().level(NodeId(n)));
  }
}

GateShape Simulator::shape_of(int node) const {
  GateShape shape;
  shape.self = NodeId(node);
  shape.windows = scenario_.windows;
  shape.incoming.assign(at(nodes_), std::pmr::vector<std::int64_t>(at(scenario_.windows), 0));
  shape.last_sending.assign(at(nodes_), -1);
  std::vector<std::set<NodeId>> senders(at(scenario_.windows));
  std::vector<std::set<NodeId>> receivers(at(scenario_.windows));
  for (const Flow& flow : scenario_.flows) {
    if (flow.bytes == 0) continue;
    shape.incoming[at(flow.destination)][at(flow.window)] += flow.bytes;
    int& last = shape.last_sending[at(flow.source)];
    last = std::max(last, flow.window);
    if (flow.destination == node) senders[at(flow.window)].insert(NodeId(flow.source));
    if (flow.source == node) receivers[at(flow.window)].insert(NodeId(flow.destination));
  }
  for (int w = 0; w < scenario_.windows; ++w) {
    shape.senders.emplace_back(senders[at(w)].begin(), senders[at(w)].end());
    shape.receivers.emplace_back(receivers[at(w)].begin(), receivers[at(w)].end());
  }
  return shape;
}

std::int64_t Simulator::missing(int node, int before_window) const {
  std::int64_t bytes = 0;
  for (const Lane& lane : lanes_) {
    if (lane.destination == node && lane.window < before_window) bytes += lane.missing;
  }
  return bytes;
}

bool Simulator::sendable(const Lane& lane) const {
  if (lane.unsent == 0) return false;
  // A driver serves its windows in order.
  for (const Lane& other : lanes_) {
    if (other.source == lane.source && other.source_driver == lane.source_driver &&
        other.window < lane.window && other.unsent > 0) {
      return false;
    }
  }
  return gates_[at(lane.source)].may_send(lane.window, NodeId(lane.destination));
}

void Simulator::send(Lane& lane) {
  outcome_.most_missing = std::max(outcome_.most_missing, missing(lane.destination, lane.window));
  for (int n = 0; n < nodes_; ++n) {
    outcome_.left_before_barrier |= missing(n, lane.window) > 0;
  }
  const std::int64_t bytes = 1 + static_cast<std::int64_t>(rng_() % 8) % lane.unsent;
  lane.unsent -= bytes;
  packets_.push_back({static_cast<std::size_t>(&lane - lanes_.data()), bytes});
}

void Simulator::measure_fan_in(int node) {
  std::set<int> active;
  for (const Lane& lane : lanes_) {
    if (lane.destination == node && lane.missing > 0 && lane.missing < lane.planned) {
      active.insert(lane.source);
    }
  }
  outcome_.max_fan_in = std::max(outcome_.max_fan_in, static_cast<int>(active.size()));
}

void Simulator::deliver_packet() {
  std::swap(packets_[rng_() % packets_.size()], packets_.back());
  const Packet packet = packets_.back();
  packets_.pop_back();
  Lane& lane = lanes_[packet.lane];
  lane.missing -= packet.bytes;
  levels_[at(lane.destination)][at(lane.destination_driver)].arrived(lane.window, packet.bytes);
  measure_fan_in(lane.destination);
}

void Simulator::deliver_level() {
  std::swap(messages_[rng_() % messages_.size()], messages_.back());
  const Level message = messages_.back();
  messages_.pop_back();
  gates_[at(message.to)].reached(NodeId(message.from), message.level);
}

void Simulator::raise(int node) {
  const std::int64_t lead = scenario_.lead / scenario_.drivers[at(node)];
  int level = scenario_.windows;
  for (const LevelCounter& counter : levels_[at(node)]) {
    level = std::min(level, counter.level_with_lead(lead));
  }
  if (level <= told_[at(node)]) return;
  gates_[at(node)].reached(NodeId(node), level);
  for (const NodeId to : gates_[at(node)].to_tell(told_[at(node)])) {
    messages_.push_back({node, to.value, level});
    ++outcome_.messages;
  }
  told_[at(node)] = level;
}

Outcome Simulator::run() {
  for (;;) {
    // A node may look at its counters late: its level then jumps.
    const bool look_at_all = packets_.empty() && messages_.empty();
    for (int n = 0; n < nodes_; ++n) {
      if (look_at_all || rng_() % 3 == 0) raise(n);
    }
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < lanes_.size(); ++i) {
      if (sendable(lanes_[i])) ready.push_back(i);
    }
    const std::uint64_t kinds =
        ready.size() + packets_.size() + messages_.size();  // things that can happen
    if (kinds == 0 && look_at_all) break;
    if (kinds == 0) continue;
    const std::uint64_t pick = rng_() % kinds;
    if (pick < ready.size()) {
      send(lanes_[ready[pick]]);
    } else if (pick < ready.size() + packets_.size()) {
      deliver_packet();
    } else {
      deliver_level();
    }
  }
  outcome_.all_arrived =
      std::all_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) { return lane.missing == 0; });
  outcome_.all_settled = std::all_of(gates_.begin(), gates_.end(),
                                     [](const StartGate& gate) { return gate.settled(); });
  return outcome_;
}

}  // namespace ticks
