#include "exec/gate_shapes.hpp"

#include <algorithm>

namespace railwave::exec {
namespace {

void insert_sorted(std::pmr::vector<NodeId>& nodes, NodeId node) {
  const auto at = std::lower_bound(nodes.begin(), nodes.end(), node);
  if (at == nodes.end() || *at != node) nodes.insert(at, node);
}

}  // namespace

PhaseLoads::PhaseLoads(const plan::DispatchPlan& plan, Operation direction, std::int64_t row_bytes,
                       Memory* memory)
    : topology_(plan.topology()),
      windows_(static_cast<int>(plan.windows().size())),
      flows_(memory) {
  for (int w = 0; w < windows_; ++w) {
    for (const NodePair pair : plan.windows()[static_cast<std::size_t>(w)]) {
      const auto loads = plan.rail_loads(pair, static_cast<std::size_t>(w), memory);
      for (int r = 0; r < topology_.rails(); ++r) {
        if (loads[static_cast<std::size_t>(r)] == 0) continue;
        Flow flow{pair, RailId(r), topology_.ingress(pair.source, pair.destination, RailId(r)), w,
                  loads[static_cast<std::size_t>(r)] * row_bytes};
        if (direction == Operation::Combine) {
          std::swap(flow.travel.source, flow.travel.destination);
          std::swap(flow.sender_rail, flow.receiver_rail);
        }
        flows_.push_back(flow);
      }
    }
  }
}

sched::GateShape PhaseLoads::blank(NodeId self) const {
  const auto nodes = static_cast<std::size_t>(topology_.nodes());
  const auto windows = static_cast<std::size_t>(windows_);
  sched::GateShape shape(flows_.get_allocator().resource());
  shape.self = self;
  shape.windows = windows_;
  shape.incoming.resize(nodes);
  for (auto& bytes : shape.incoming) bytes.assign(windows, 0);
  shape.senders.resize(windows);
  shape.receivers.resize(windows);
  shape.last_sending.assign(nodes, -1);
  return shape;
}

void PhaseLoads::add(sched::GateShape& shape, const Flow& flow, bool sends, bool receives) const {
  const auto window = static_cast<std::size_t>(flow.window);
  if (receives) shape.incoming[flow.travel.destination.index()][window] += flow.bytes;
  if (sends) {
    int& last = shape.last_sending[flow.travel.source.index()];
    last = std::max(last, flow.window);
  }
  if (receives && flow.travel.destination == shape.self) {
    insert_sorted(shape.senders[window], flow.travel.source);
  }
  if (sends && flow.travel.source == shape.self) {
    insert_sorted(shape.receivers[window], flow.travel.destination);
  }
}

sched::GateShape PhaseLoads::rail_gate(NodeId self, RailId rail) const {
  sched::GateShape shape = blank(self);
  // The rail's number at every node: its own number here, the one it leads to elsewhere.
  std::pmr::vector<RailId> number(shape.incoming.size(), RailId(-1), flows_.get_allocator());
  for (std::size_t n = 0; n < number.size(); ++n) {
    const auto reachable =
        NodeId(n) == self ? std::span<const RailId>{} : topology_.eligible(self, NodeId(n));
    if (NodeId(n) == self) {
      number[n] = rail;
    } else if (std::find(reachable.begin(), reachable.end(), rail) != reachable.end()) {
      number[n] = topology_.ingress(self, NodeId(n), rail);
    } else {
      shape.incoming[n].clear();
    }
  }
  for (const Flow& flow : flows_) {
    add(shape, flow, number[flow.travel.source.index()] == flow.sender_rail,
        number[flow.travel.destination.index()] == flow.receiver_rail);
  }
  return shape;
}

sched::GateShape PhaseLoads::node_gate(NodeId self) const {
  sched::GateShape shape = blank(self);
  for (const Flow& flow : flows_) add(shape, flow, true, true);
  return shape;
}

}  // namespace railwave::exec
