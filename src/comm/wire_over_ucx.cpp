#include <utility>

#include <fmt/format.h>

#include "base/fail.hpp"
#include "comm/wiring.hpp"
#include "transport/memfd_fabric.hpp"
#include "transport/ucx_rail.hpp"

namespace railwave::comm {

Result<Wiring> wire_over_ucx(const Topology& topology, RankId self,
                             const std::vector<std::string>& devices, Deadline deadline,
                             const SocketBuffers& buffers) {
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
  auto meeting = meet_over_tcp({*identity, 0, deadline});
  if (!meeting) return fail(std::move(meeting).error());
  wiring.all_gather = std::move(*meeting);
  wiring.job = identity->job;
  const NodeId node = topology.node_of(self);
  const std::string key = fmt::format("{:016x}/{}/{}", identity->job, 0, node.value);
  wiring.meet_node = [key, local = topology.local_of(self), size = topology.ranks_at(node)](
                         std::int64_t bytes, Deadline until) {
    return transport::meet_over_memfd({key, local, size, bytes, until});
  };
  wiring.open_rail = [self, devices, buffers](RailId rail) {
    transport::UcxRailOptions options;
    options.self = self;
    options.rail = rail;
    options.device = devices[rail.index()];
    options.send_buffer_bytes = buffers.send;
    options.receive_buffer_bytes = buffers.receive;
    return transport::open_ucx_rail(options);
  };
  return wiring;
}

}  // namespace railwave::comm
