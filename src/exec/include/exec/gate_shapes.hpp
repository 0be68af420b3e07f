// What the start gates must know of a phase: planned bytes per (node, rail, window).
#pragma once

#include <cstdint>
#include <memory_resource>
#include <vector>

#include <railwave/ids.hpp>

#include "base/memory.hpp"
#include "exec/step_header.hpp"
#include "plan/dispatch_plan.hpp"
#include "sched/start_gate.hpp"

namespace railwave::exec {

/// Loads of all nodes in one direction of a plan, which outlives them. Cost O(N^2 R).
class PhaseLoads {
 public:
  PhaseLoads(const plan::DispatchPlan& plan, Operation direction, std::int64_t row_bytes,
             Memory* memory = std::pmr::get_default_resource());
  /// The gate of one rail of `self`: the other nodes appear with the rail that it meets there;
  /// nodes that can not be reached on it take no part.
  [[nodiscard]] sched::GateShape rail_gate(NodeId self, RailId rail) const;
  /// The gate of all rails of `self` together.
  [[nodiscard]] sched::GateShape node_gate(NodeId self) const;

 private:
  struct Flow {  // bytes of one pair on one rail, in the direction of travel
    NodePair travel;
    RailId sender_rail;
    RailId receiver_rail;
    int window = 0;
    std::int64_t bytes = 0;
  };
  [[nodiscard]] sched::GateShape blank(NodeId self) const;
  void add(sched::GateShape& shape, const Flow& flow, bool sends, bool receives) const;

  const Topology& topology_;
  int windows_;
  std::pmr::vector<Flow> flows_;
};

}  // namespace railwave::exec
