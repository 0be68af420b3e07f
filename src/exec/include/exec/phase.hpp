// One phase on one rank: all its rails' flows, their gates, and the reader of what arrives.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <railwave/error.hpp>
#include <railwave/phase_report.hpp>

#include "exec/gate_keeper.hpp"
#include "exec/own_rows.hpp"
#include "exec/rail_flow.hpp"
#include "exec/rank_engine.hpp"
#include "exec/segment_map.hpp"
#include "exec/streams.hpp"
#include "plan/dispatch_plan.hpp"

namespace railwave::exec {

/// Bytes of one rail's send slots.
std::int64_t slots_bytes(const Limits& limits);

/// Room for the frames that a rank has in flight: made once per group, used by every phase.
class SendSlots {
 public:
  SendSlots(const RankEngine& engine, const Limits& limits);
  [[nodiscard]] std::span<std::byte> of(RailId rail) { return slots_[rail.index()]; }
  [[nodiscard]] std::int64_t slot_bytes() const { return slot_bytes_; }
  /// All slots of a rank: driven rails x send_slots x slot_bytes.
  [[nodiscard]] std::int64_t bytes() const;

 private:
  std::int64_t slot_bytes_;
  std::vector<std::vector<std::byte>> slots_;  // [R], empty where not driven
};

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
};

/// Runs the plan's windows: obeys, decides nothing.
/// Threads: the engine's.
class Phase : public FrameHandler {
 public:
  explicit Phase(const PhaseSetup& setup);
  /// Streams that end and start at this node.
  [[nodiscard]] const NodeStreams& streams() const { return streams_; }
  /// Records of the inbound stream that have arrived in order at its receiver's stage.
  [[nodiscard]] std::int64_t arrived_records(const Stream& inbound) const;
  /// A record of an inbound stream in its receiver's stage.
  [[nodiscard]] const std::byte* stage_of(const Stream& inbound) const;

  /// Moves everything. `read` is called after each change and returns true when this rank has read
  /// all that it wants from the stages.
  /// Errors: Timeout naming a rank that is late; PeerFailed.
  Status run(RecordSource& source, const std::function<bool()>& read, Deadline deadline);
  void report(PhaseReport& out) const;

  std::span<std::byte> place(RailId rail, const transport::FrameHeader& frame) override;
  void arrived(RailId rail, const transport::FrameHeader& frame) override;
  void sent(RailId rail, std::uint64_t token) override;

 private:
  void open_rails(RecordSource& source);
  Result<bool> advance(const std::function<bool()>& read);
  [[nodiscard]] Error late() const;

  PhaseSetup setup_;
  NodeStreams streams_;
  std::vector<std::unique_ptr<GateKeeper>> keepers_;
  std::vector<std::unique_ptr<RailFlow>> flows_;  // [R], null where not driven
  bool read_all_ = false;                         // and has told its neighbours
};

}  // namespace railwave::exec
