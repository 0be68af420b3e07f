#include <utility>

#include <fmt/format.h>

#include "base/fail.hpp"
#include "comm/wiring.hpp"
#include "transport/memfd_fabric.hpp"
#include "transport/ucx_rail.hpp"

namespace railwave::comm {

Result<Wiring> wire_over_ucx(const Topology& topology, RankId self,
                             const std::vector<std::string>& devices, Deadline deadline,
                             const UcxWiringOptions& options) {
  auto identity = identity_from_environment();
  if (!identity) return fail(std::move(identity).error());
  if (static_cast<int>(devices.size()) != topology.rails()) {
    return fail(ErrorCode::InvalidArgument, self, "rail_devices",
                fmt::format("{} devices given for {} rails", devices.size(), topology.rails()));
  }
  if (identity->world_size != topology.ranks() || identity->rank != self.value) {
    return fail(ErrorCode::InvalidArgument, self, "topology",
                fmt::format("the launcher says rank {} of {}, the topology has rank {} of {}",
                            identity->rank, identity->world_size, self.value, topology.ranks()));
  }
  Wiring wiring;
  auto meeting = meet_over_tcp({*identity, options.generation, deadline});
  if (!meeting) return fail(std::move(meeting).error());
  wiring.all_gather = std::move(*meeting);
  wiring.job = identity->job;
  wiring.generation = options.generation;
  const NodeId node = topology.node_of(self);
  const std::string key =
      fmt::format("{:016x}/{}/{}", identity->job, options.generation, node.value);
  wiring.meet_node = [key, local = topology.local_of(self), size = topology.ranks_at(node)](
                         std::int64_t bytes, Deadline until) {
    return transport::meet_over_memfd({key, local, size, bytes, until});
  };
  wiring.open_rail = [self, devices, options](RailId rail) {
    transport::UcxRailOptions ucx;
    ucx.self = self;
    ucx.rail = rail;
    ucx.device = devices[rail.index()];
    ucx.send_buffer_bytes = options.send_buffer_bytes;
    ucx.receive_buffer_bytes = options.receive_buffer_bytes;
    return transport::open_ucx_rail(ucx);
  };
  return wiring;
}

}  // namespace railwave::comm
