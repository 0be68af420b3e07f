// The group behind a Communicator: where the deciders and the movers meet.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <railwave/communicator.hpp>

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
  Result<std::vector<std::vector<std::byte>>> all_gather(std::span<const std::byte> mine);
  Result<SharedBuffer> allocate(std::int64_t bytes);
  [[nodiscard]] std::uint64_t operations() const { return step_; }
  [[nodiscard]] WorkspaceSize workspace() const;

 private:
  class Call;
  Group(const Topology& topology, const Placement& placement, const CommunicatorOptions& options);
  Status build(Wiring wiring);
  Status connect(Deadline deadline);
  [[nodiscard]] std::vector<std::vector<RankId>> rail_peers() const;

  Result<Received> run_dispatch(const DispatchArguments& arguments, Deadline deadline);
  Result<PhaseReport> run_combine(const CombineArguments& arguments, Deadline deadline);
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
  [[nodiscard]] exec::StepHeader header_of(const DispatchArguments& arguments) const;
  static exec::StepHeader header_of(const CombineArguments& arguments);
  /// What all ranks will do: the handle without what only the moved rows tell.
  Result<std::shared_ptr<exec::HandleState>> plan_dispatch(
      const DispatchArguments& arguments, const std::vector<exec::StepHeader>& headers);
  void write_metas(const DispatchArguments& arguments);
  [[nodiscard]] exec::NodeRows::Setup expert_rows(const CombineArguments& arguments);
  /// Exchanges headers; on the rank with `own` error that error, else the agreed headers.
  /// `meanwhile` is called with the header on its way, when there was no error.
  Result<std::vector<exec::StepHeader>> exchange(exec::StepHeader header, const Status& own,
                                                 Deadline deadline,
                                                 const std::function<void()>& meanwhile = {});
  [[nodiscard]] exec::PhaseSetup phase_setup(exec::Operation operation,
                                             const plan::DispatchPlan& plan, exec::NodeRows& rows,
                                             const exec::ChunkShape& shape);
  [[nodiscard]] const exec::SegmentMap& own_map() const {
    return maps_[static_cast<std::size_t>(engine_->local())];
  }
  /// Notes an error that ends the group; passes every error on.
  Error keep(Error error);
  /// Once headers or records move, an error of any code leaves the ranks at different places: the
  /// codes that would leave the group usable become Internal.
  static Error midway(Error error);
  [[nodiscard]] Error out_of_memory(const char* operation) const;
  [[nodiscard]] Deadline operation_deadline() const;
  void leave();

  Topology topology_;
  Placement placement_;
  CommunicatorOptions options_;
  exec::Limits limits_;
  std::vector<exec::SegmentMap> maps_;  // of the node's ranks
  std::unique_ptr<AllGather> all_gather_;
  // The engine is destroyed before the two below, hence declared after them: its rails may still
  // read what they were given to send, and UCX completes what is in flight when a rail is closed.
  std::unique_ptr<exec::HeaderExchange> headers_;
  std::unique_ptr<exec::SendSlots> slots_;
  std::unique_ptr<exec::RankEngine> engine_;
  std::shared_ptr<const void> identity_ = std::make_shared<char>();  // tells groups apart
  std::shared_ptr<transport::SharedArena> arena_;
  std::uint64_t step_ = 0;
  std::optional<Error> ended_;
  std::atomic<bool> busy_{false};
};

}  // namespace railwave::comm
