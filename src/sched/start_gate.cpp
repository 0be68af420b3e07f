#include "sched/start_gate.hpp"

#include <algorithm>
#include <utility>

#include "sched/level_counter.hpp"

namespace railwave::sched {

StartGate::StartGate(StartPolicy policy, GateShape shape, bool tell_last)
    : policy_(policy),
      shape_(std::move(shape)),
      tell_last_(tell_last),
      level_(shape_.incoming.get_allocator()) {
  level_.reserve(shape_.incoming.size());
  for (const auto& planned : shape_.incoming) {
    level_.push_back(planned.empty() ? shape_.windows : LevelCounter::level_at_first(planned));
  }
}

bool StartGate::all_reached(int level) const {
  return std::all_of(level_.begin(), level_.end(), [&](int have) { return have >= level; });
}

bool StartGate::may_send(int window, NodeId destination) const {
  switch (policy_) {
    case StartPolicy::Free:
      return true;
    case StartPolicy::Submission:
    case StartPolicy::RailBarrier:
      return all_reached(window);
    case StartPolicy::Grant:
      return level_[destination.index()] >= window;
  }
  return false;
}

void StartGate::reached(NodeId node, int level) {
  int& have = level_[node.index()];
  have = std::max(have, level);
}

bool StartGate::must_tell(NodeId node, int before) const {
  const int now = level(shape_.self);
  if (now <= before || policy_ == StartPolicy::Free) return false;
  if (tell_last_ && now == shape_.windows) return node != shape_.self;
  // Several windows at once where each driver of the rail has its own: all their senders wait.
  if (policy_ == StartPolicy::Grant) return sends_within(node, before + 1, now);
  // A node that sends nothing after window `before` waits for no level above it.
  return node != shape_.self && shape_.last_sending[node.index()] > before;
}

std::vector<NodeId> StartGate::to_tell(int before) const {
  std::vector<NodeId> out;
  for (std::size_t n = 0; n < level_.size(); ++n) {
    if (must_tell(NodeId(n), before)) out.emplace_back(n);
  }
  return out;
}

bool StartGate::sends_within(NodeId node, int first, int last) const {
  for (int window = first; window <= last && window < shape_.windows; ++window) {
    const std::pmr::vector<NodeId>& senders = shape_.senders[static_cast<std::size_t>(window)];
    if (std::find(senders.begin(), senders.end(), node) != senders.end()) return true;
  }
  return false;
}

bool StartGate::settled() const {
  if (level(shape_.self) < shape_.windows) return false;
  for (int window = 0; window < shape_.windows; ++window) {
    for (const NodeId receiver : shape_.receivers[static_cast<std::size_t>(window)]) {
      if (!may_send(window, receiver)) return false;
    }
  }
  return true;
}

std::vector<NodeId> StartGate::blockers(int window, NodeId destination) const {
  std::vector<NodeId> out;
  if (may_send(window, destination)) return out;
  if (policy_ == StartPolicy::Grant) return {destination};
  for (std::size_t n = 0; n < level_.size(); ++n) {
    if (level_[n] < window) out.emplace_back(n);
  }
  return out;
}

}  // namespace railwave::sched
