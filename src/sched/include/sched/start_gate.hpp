// Who may start next on a rail (DESIGN 5.3). A pure state machine over levels: no clock, no socket.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include <railwave/ids.hpp>
#include <railwave/path.hpp>

#include "base/memory.hpp"

namespace railwave::sched {

/// What is planned on one rail of one node (or, for StartPolicy::Submission, on all its rails), as
/// every rank derives it from the header.
struct GateShape {
  explicit GateShape(Memory* memory = std::pmr::get_default_resource())
      : incoming(memory), senders(memory), receivers(memory), last_sending(memory) {}
  NodeId self;
  int windows = 0;
  /// [N][W] bytes each node receives; empty inner vector: the node takes no part on this rail.
  std::pmr::vector<std::pmr::vector<std::int64_t>> incoming;
  /// [W] nodes that send to `self`, and nodes to which `self` sends, ascending.
  std::pmr::vector<std::pmr::vector<NodeId>> senders;
  std::pmr::vector<std::pmr::vector<NodeId>> receivers;
  /// [N] last window in which the node sends; -1: in none.
  std::pmr::vector<int> last_sending;
};

/// One node's view of who may start. Levels (see LevelCounter) only rise.
///   Free         a window may start at any time
///   Submission,
///   RailBarrier  window w may start when every node's level is >= w
///   Grant        window w towards d may start when d's level is >= w: d has received its windows
///                before w (or all but a lead of bytes, where it says so early)
/// Deadlock freedom: the nodes with the least level wait for senders that need no higher level than
/// theirs, so the smallest unfinished window can always run.
/// Threads: belongs to one thread.
class StartGate {
 public:
  /// `tell_last`: the phase after this one may wait for the last window, so that its level is told
  /// to everyone.
  StartGate(StartPolicy policy, GateShape shape, bool tell_last = false);

  /// May `self` send its bytes of `window` to `destination`? Its own order of windows is its
  /// matter. For `window` = windows: may the first window of the phase after this one be sent?
  [[nodiscard]] bool may_send(int window, NodeId destination) const;
  /// A node says (or the own node finds) that it has reached `level`. Lower values are ignored.
  void reached(NodeId node, int level);
  [[nodiscard]] const GateShape& shape() const { return shape_; }
  [[nodiscard]] int level(NodeId node) const { return level_[node.index()]; }
  /// Whom to tell that the own level is now level(self), after it rose from `before`; ascending.
  [[nodiscard]] std::vector<NodeId> to_tell(int before) const;
  /// Is `node` among them?
  [[nodiscard]] bool must_tell(NodeId node, int before) const;
  /// True when nothing that a peer could still say would change may_send() of any window of `self`,
  /// and the own node has received everything: the gate is not needed any more.
  [[nodiscard]] bool settled() const;
  /// Nodes that keep `window` towards `destination` from starting, ascending.
  [[nodiscard]] std::vector<NodeId> blockers(int window, NodeId destination) const;

 private:
  [[nodiscard]] bool all_reached(int level) const;
  /// Does `node` send to `self` in one of the windows first .. last?
  [[nodiscard]] bool sends_within(NodeId node, int first, int last) const;
  StartPolicy policy_;
  GateShape shape_;
  bool tell_last_;
  std::pmr::vector<int> level_;  // [N]; windows for nodes without part
};

}  // namespace railwave::sched
