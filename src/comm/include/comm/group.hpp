// The group behind a Communicator: where the deciders and the movers meet.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <railwave/communicator.hpp>

#include "base/memory.hpp"
#include "comm/wiring.hpp"
#include "exec/dispatch.hpp"
#include "exec/handle_state.hpp"
#include "exec/header_exchange.hpp"
#include "exec/limits.hpp"
#include "exec/phase.hpp"
#include "exec/rank_engine.hpp"
#include "exec/segment_map.hpp"
#include "transport/shared_arena.hpp"

namespace railwave::comm {

class Step;
class DispatchStep;
class CombineStep;
class StepMover;

/// Threads: one call at a time.
class Group {
 public:
  static Result<std::unique_ptr<Group>> create(const Topology& topology, const Placement& placement,
                                               const CommunicatorOptions& options, Wiring wiring);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  Result<Received> dispatch(const DispatchArguments& arguments);
  Result<PhaseReport> combine(const CombineArguments& arguments);
  Result<Ticket<Received>> dispatch_async(const DispatchArguments& arguments);
  Result<Ticket<PhaseReport>> combine_async(const CombineArguments& arguments);
  Result<std::vector<std::vector<std::byte>>> all_gather(std::span<const std::byte> mine);
  Result<SharedBuffer> allocate(std::int64_t bytes);
  [[nodiscard]] std::uint64_t operations() const { return step_; }
  [[nodiscard]] WorkspaceSize workspace() const;

 private:
  friend class Step;
  friend class DispatchStep;
  friend class CombineStep;
  class Call;
  Group(const Topology& topology, const Placement& placement, const CommunicatorOptions& options);
  Status build(Wiring wiring);
  Status connect(Deadline deadline);
  [[nodiscard]] std::vector<std::vector<RankId>> rail_peers() const;

  template <class Outcome, class NewStep, class Arguments>
  Result<Outcome> run(const Arguments& arguments);
  template <class Outcome, class NewStep, class Arguments>
  Result<Ticket<Outcome>> start(const Arguments& arguments);
  [[nodiscard]] Status check(const DispatchArguments& arguments) const;
  [[nodiscard]] Status check(const CombineArguments& arguments) const;
  [[nodiscard]] Status check_handle(const Handle& handle) const;
  [[nodiscard]] Status check_routing(const DispatchArguments& arguments) const;
  [[nodiscard]] Status check_repeated(const DispatchArguments& arguments) const;
  [[nodiscard]] Status check_weights(const CombineArguments& arguments) const;
  [[nodiscard]] Status check_weights_out(const CombineArguments& arguments) const;
  [[nodiscard]] Status check_outputs(const CombineArguments& arguments) const;
  /// Rows that this rank can take in this step, padding included.
  [[nodiscard]] std::int64_t recv_room(const DispatchArguments& arguments) const;
  [[nodiscard]] std::int64_t most_padding(const DispatchArguments& arguments) const;
  /// Fills the header's records and copies.
  void count(const DispatchArguments& arguments, exec::StepHeader& header) const;
  /// What a header says of a checked input.
  void describe(const DispatchArguments& arguments, exec::StepHeader& header) const;
  static void describe(const CombineArguments& arguments, exec::StepHeader& header);
  [[nodiscard]] const exec::SegmentMap& own_map() const {
    return maps_[static_cast<std::size_t>(engine_->local())];
  }
  /// The phase that must be over, on each rail, before that of `step` sends; null if none can be
  /// under way.
  [[nodiscard]] std::shared_ptr<exec::Phase> phase_before(std::uint64_t step) const;
  tl::unexpected<Error> out_of_memory();
  void leave();

  std::shared_ptr<const Topology> shared_topology_;  // with the plans
  const Topology& topology_;
  Placement placement_;
  CommunicatorOptions options_;
  exec::Limits limits_;
  // Of steps, phases and handles, which may outlive the group.
  std::shared_ptr<KeptMemory> memory_ = std::make_shared<KeptMemory>();
  std::vector<exec::SegmentMap> maps_;  // of the node's ranks
  std::unique_ptr<AllGather> all_gather_;
  // The engine is destroyed before the two below, hence declared after them: its rails may still
  // read what they were given to send, and UCX completes what is in flight when a rail is closed.
  std::unique_ptr<exec::HeaderExchange> headers_;
  std::unique_ptr<exec::SendSlots> slots_;
  std::unique_ptr<exec::RankEngine> engine_;
  // These use the engine and the two above.
  std::shared_ptr<exec::Phase> newest_phase_;  // if another may follow it before it is over
  std::unique_ptr<StepMover> mover_;           // null until the group is built
  std::shared_ptr<const void> identity_ = std::make_shared<char>();  // tells groups apart
  std::shared_ptr<transport::SharedArena> arena_;
  std::atomic<std::uint64_t> step_{0};  // the newest
  std::atomic<bool> busy_{false};
};

}  // namespace railwave::comm
