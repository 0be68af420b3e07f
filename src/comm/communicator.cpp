#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <railwave/communicator.hpp>

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "comm/group.hpp"
#include "comm/group_settings.hpp"
#include "exec/record.hpp"
#include "transport/shared_arena.hpp"

namespace railwave {

std::int64_t Handle::rows() const { return state_ ? state_->rows : 0; }

RowLayout Handle::layout() const { return state_ ? state_->layout : RowLayout::RankMajor; }

Communicator::Communicator(std::unique_ptr<comm::Group> group) : group_(std::move(group)) {}
Communicator::Communicator(Communicator&&) noexcept = default;
Communicator& Communicator::operator=(Communicator&&) noexcept = default;
Communicator::~Communicator() = default;

Result<Communicator> Communicator::create(const Topology& topology, const Placement& placement,
                                          const CommunicatorOptions& options,
                                          const std::vector<std::string>& rail_devices) {
  auto wiring = comm::wire_over_ucx(topology, options.self, rail_devices,
                                    Clock::now() + options.deadlines.init);
  if (!wiring) return fail(std::move(wiring).error());
  return create(topology, placement, options, std::move(*wiring));
}

Result<Communicator> Communicator::create(const Topology& topology, const Placement& placement,
                                          const CommunicatorOptions& options, comm::Wiring wiring) {
  auto group = comm::Group::create(topology, placement, options, std::move(wiring));
  if (!group) return fail(std::move(group).error());
  return Communicator(std::move(*group));
}

Result<Received> Communicator::dispatch(const DispatchArguments& arguments) {
  return group_->dispatch(arguments);
}

Result<PhaseReport> Communicator::combine(const CombineArguments& arguments) {
  return group_->combine(arguments);
}

Result<Ticket<Received>> Communicator::dispatch_async(const DispatchArguments& arguments) {
  return group_->dispatch_async(arguments);
}

Result<Ticket<PhaseReport>> Communicator::combine_async(const CombineArguments& arguments) {
  return group_->combine_async(arguments);
}

Result<std::vector<std::vector<std::byte>>> Communicator::all_gather(
    std::span<const std::byte> mine) {
  return group_->all_gather(mine);
}

Result<SharedBuffer> Communicator::allocate(std::int64_t bytes) { return group_->allocate(bytes); }

SharedBuffer::~SharedBuffer() {
  if (arena_) arena_->give_back(bytes_);
}

std::uint64_t Communicator::operations() const { return group_->operations(); }

WorkspaceSize Communicator::workspace() const { return group_->workspace(); }

Result<std::int64_t> worst_case_recv_rows(const Topology& topology, const Placement& placement,
                                          const WorstCase& worst) {
  const bool expert_major = worst.layout == RowLayout::ExpertMajor;
  std::int64_t most_experts = 0;
  for (int p = 0; p < placement.ranks(); ++p) {
    most_experts =
        std::max(most_experts, static_cast<std::int64_t>(placement.owned(RankId(p)).size()));
  }
  const auto tokens = checked_mul(worst.tokens_per_rank, topology.ranks());
  const auto rows = tokens ? checked_mul(*tokens, expert_major ? worst.top_k : 1) : std::nullopt;
  const std::int64_t padding = expert_major ? most_experts * (worst.expert_alignment - 1LL) : 0;
  const auto all = rows ? checked_add(*rows, padding) : std::nullopt;
  if (worst.tokens_per_rank < 0 || worst.top_k < 1 || worst.expert_alignment < 1 || !all) {
    return fail(ErrorCode::InvalidArgument, "tokens_per_rank",
                fmt::format("{} tokens per rank, top_k {}, alignment {}: no count of rows",
                            worst.tokens_per_rank, worst.top_k, worst.expert_alignment));
  }
  return *all;
}

Result<WorkspaceSize> workspace_size(const Topology& topology, const CommunicatorOptions& options) {
  RAILWAVE_TRY(comm::check_sizes(topology, options));
  const exec::Limits limits = comm::limits_of(options);
  WorkspaceSize size;
  size.segment = exec::SegmentMap::of(topology, limits, options.self).bytes;
  const NodeId node = topology.node_of(options.self);
  if (topology.nodes() == 1) return size;  // no rail is opened
  for (int r = 0; r < topology.rails(); ++r) {
    if (!topology.live(node, RailId(r))) continue;
    for (const RankId driver : topology.drivers(node, RailId(r))) {
      if (driver == options.self) {
        size.send_slots += exec::send_bytes(topology, limits, driver, RailId(r));
      }
    }
  }
  return size;
}

}  // namespace railwave
