// Feeds a StartGate from the node's words and tells other nodes how far this one has come.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include <railwave/error.hpp>
#include <railwave/path.hpp>

#include "base/memory.hpp"
#include "exec/rank_engine.hpp"
#include "exec/segment_map.hpp"
#include "sched/start_gate.hpp"

namespace railwave::exec {

/// A word that carries a number of one step; of another step it counts as absent.
constexpr std::uint64_t tagged(std::uint64_t step, int value) {
  return (step << 24) | static_cast<std::uint64_t>(value);
}
/// The value if the word is of `step`, else -1.
constexpr int untagged(std::uint64_t word, std::uint64_t step) {
  return word >> 24 == (step & 0xffffffffffU) ? static_cast<int>(word & 0xffffffU) : -1;
}

/// Is the word of a step after `step`?
constexpr bool is_of_later_step(std::uint64_t word, std::uint64_t step) {
  return word >> 24 > (step & 0xffffffffffU);
}

/// One gate: of one rail (rail-barrier, grant, free) or of the whole node (submission).
/// Every driver of the rail has one; the lead driver (the first) tells the other nodes and hears
/// from them, its fellows read what it heard in its segment.
/// Threads: the engine's.
class GateKeeper {
 public:
  struct Setup {
    RankEngine* engine = nullptr;
    std::span<const SegmentMap> maps;  ///< of the node's ranks
    std::uint64_t step = 0;
    StartPolicy policy = StartPolicy::RailBarrier;
    std::pmr::vector<RailId> rails;  ///< the gate's rails: one, or all of the node
    sched::GateShape shape;
    bool tell_last = false;  ///< another phase may wait for this one's last window
    Memory* memory = std::pmr::get_default_resource();
  };
  explicit GateKeeper(Setup setup);

  /// This rank, as a driver of `rail`, has come to `level`.
  void publish_level(RailId rail, int level);
  /// A Received or Grant frame has come in on `rail`.
  void heard(RailId rail, const transport::FrameHeader& frame);
  /// Looks at the node's words; true when something changed. Sends what is to be told.
  Result<bool> refresh();
  [[nodiscard]] const sched::StartGate& gate() const { return gate_; }
  /// May a later phase send to `node`: has its last window been received as the policy wants it?
  [[nodiscard]] bool finished(NodeId node) const {
    return gate_.may_send(gate_.shape().windows, node);
  }
  /// Nodes for which it waits then.
  [[nodiscard]] std::vector<NodeId> unfinished(NodeId node) const {
    return gate_.blockers(gate_.shape().windows, node);
  }
  /// True when this rank is not needed any more to hear or tell.
  [[nodiscard]] bool settled() const { return gate_.settled(); }

 private:
  struct Word {  // a word in a neighbour's segment
    int local = 0;
    std::int64_t offset = 0;
  };
  struct Voice {  // how this rank tells a node
    RailId rail;
    RankId receiver;
  };
  void find_words();
  void find_voices();
  [[nodiscard]] int observe(const Word& word) const;
  void signal_fellows();
  Status tell(NodeId node, int level);

  Setup setup_;
  sched::StartGate gate_;
  int told_ = 0;  // the own level of which the others know
  std::pmr::vector<Word> levels_;
  std::pmr::vector<Word> heard_;    // [N]
  std::pmr::vector<Voice> voices_;  // [N], rail -1: not this rank's task
  std::pmr::vector<int> fellows_;
};

}  // namespace railwave::exec
