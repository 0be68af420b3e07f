// One phase on one rank: all its rails' flows, their gates, and the reader of what arrives.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

#include <railwave/error.hpp>
#include <railwave/phase_report.hpp>

#include "base/memory.hpp"
#include "exec/gate_keeper.hpp"
#include "exec/own_rows.hpp"
#include "exec/rail_flow.hpp"
#include "exec/rank_engine.hpp"
#include "exec/segment_map.hpp"
#include "exec/send_slots.hpp"
#include "exec/streams.hpp"
#include "plan/dispatch_plan.hpp"

namespace railwave::exec {

struct PhaseSetup {
  RankEngine* engine = nullptr;
  const plan::DispatchPlan* plan = nullptr;
  Operation operation = Operation::Dispatch;
  std::uint64_t step = 0;
  ChunkShape shape;
  std::span<const SegmentMap> maps;  ///< of the node's ranks
  NodeRows* rows = nullptr;          ///< what the source and the reader read
  SendSlots* slots = nullptr;
  StartPolicy policy = StartPolicy::Submission;
  std::int64_t lead_bytes = 0;
  Packing packing = Packing::Pipelined;
  /// The phase before, where several may be under way: on each rail its last window comes first.
  std::shared_ptr<Phase> before{};
  bool may_be_followed = false;  ///< another phase may wait for this one's last window
  Memory* memory = std::pmr::get_default_resource();  ///< outlives it
};

/// Runs the plan's windows: obeys, decides nothing.
///   made       open()      frames come to it, and advance() moves what can be moved
///   open       advance()   has returned true: everything is where it belongs
///   over       retire()    what the caller lent is not looked at any more; the other nodes still
///                          tell how far they are, for the phase that waits for this one
/// Threads: the engine's.
class Phase : public FrameHandler {
 public:
  explicit Phase(const PhaseSetup& setup);
  ~Phase() override;
  Phase(const Phase&) = delete;
  Phase& operator=(const Phase&) = delete;
  /// REQUIRES: `source` lives until retire().
  void open(RecordSource& source);
  [[nodiscard]] std::uint64_t step() const { return setup_.step; }
  /// Streams that end and start at this node.
  [[nodiscard]] const NodeStreams& streams() const { return streams_; }
  /// Records of the inbound stream that have arrived in order at its receiver's stage.
  [[nodiscard]] std::int64_t arrived_records(const Stream& inbound) const;
  /// A record of an inbound stream in its receiver's stage.
  [[nodiscard]] const std::byte* stage_of(const Stream& inbound) const;

  /// Moves what can be moved now; true when everything is where it belongs. `read` is called after
  /// each change and returns true when this rank has read all that it wants from the stages.
  /// Errors: PeerFailed; ProtocolViolation; what the rails report.
  Result<bool> advance(const std::function<bool()>& read);
  /// The Timeout that names a rank that is late.
  [[nodiscard]] Error late() const;
  /// Lets go of everything but the gates. REQUIRES: advance() has returned true.
  void retire();
  /// May this phase begin to send on `rail` to `node`, as far as the one before is concerned?
  [[nodiscard]] bool may_begin(RailId rail, NodeId node) const {
    return !setup_.before || setup_.before->finished(rail, node);
  }
  /// Nodes for which it waits then.
  [[nodiscard]] std::vector<NodeId> before_blockers(RailId rail, NodeId node) const {
    return setup_.before ? setup_.before->unfinished(rail, node) : std::vector<NodeId>();
  }
  /// May the phase after this one? As a node learns it from the others.
  [[nodiscard]] bool finished(RailId rail, NodeId node) const;
  /// Nodes for which it waits then.
  [[nodiscard]] std::vector<NodeId> unfinished(RailId rail, NodeId node) const;
  void report(PhaseReport& out) const;

  std::span<std::byte> place(RailId rail, const transport::FrameHeader& frame) override;
  void arrived(RailId rail, const transport::FrameHeader& frame) override;
  void sent(RailId rail, std::uint64_t token) override;

 private:
  void open_rails(RecordSource& source);
  Result<bool> refresh_gates();
  void note_prepacked();
  /// Nodes of which this one does not know that they have received all of this phase and of those
  /// before it; whether there are none.
  [[nodiscard]] std::vector<NodeId> late_nodes() const;
  [[nodiscard]] bool nobody_late() const;
  /// Does the node know of the phase before what it needs to send in this one? Until then this rank
  /// may be the one who hears it for its neighbours.
  [[nodiscard]] bool has_heard_of_before() const;

  PhaseSetup setup_;
  BatchMemory memory_;  // of what follows
  NodeStreams streams_;
  std::pmr::vector<GateKeeper> keepers_;
  std::pmr::vector<GateKeeper*> keeper_of_;          // [R], null where not driven
  std::pmr::vector<std::optional<RailFlow>> flows_;  // [R], none where not driven and when retired
  bool open_ = false;                                // the engine knows it
  Clock::time_point opened_{};
  double prepack_s_ = 0;
  bool prepacked_ = false;
  bool read_all_ = false;  // and has told its neighbours
};

}  // namespace railwave::exec
