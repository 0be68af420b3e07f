#include <utility>

#include <railwave/communicator.hpp>

#include "base/fail.hpp"
#include "comm/group.hpp"
#include "comm/group_settings.hpp"
#include "exec/record.hpp"

namespace railwave {

std::int64_t Handle::rows() const { return state_ ? state_->rows : 0; }

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

Result<std::vector<std::vector<std::byte>>> Communicator::all_gather(
    std::span<const std::byte> mine) {
  return group_->all_gather(mine);
}

std::uint64_t Communicator::operations() const { return group_->operations(); }

WorkspaceSize Communicator::workspace() const { return group_->workspace(); }

Result<WorkspaceSize> workspace_size(const Topology& topology, const CommunicatorOptions& options) {
  RAILWAVE_TRY(comm::check_sizes(topology, options));
  const exec::Limits limits = comm::limits_of(topology, options);
  WorkspaceSize size;
  size.segment = exec::SegmentMap::of(topology, limits, options.self).bytes;
  const NodeId node = topology.node_of(options.self);
  if (topology.nodes() == 1) return size;  // no rail is opened
  for (int r = 0; r < topology.rails(); ++r) {
    if (!topology.live(node, RailId(r))) continue;
    for (const RankId driver : topology.drivers(node, RailId(r))) {
      if (driver == options.self) size.send_slots += exec::slots_bytes(limits);
    }
  }
  return size;
}

}  // namespace railwave
