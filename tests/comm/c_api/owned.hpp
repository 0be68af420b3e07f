// Objects of the C interface that go away by themselves, structs that know their size.
#pragma once

#include <memory>

#include <railwave/railwave.h>

namespace c_api {

template <auto destroy>
struct Destroy {
  template <class Object>
  void operator()(Object* object) const {
    destroy(object);
  }
};

using Topology = std::unique_ptr<railwave_topology, Destroy<railwave_topology_destroy>>;
using Placement = std::unique_ptr<railwave_placement, Destroy<railwave_placement_destroy>>;
using Group = std::unique_ptr<railwave_group, Destroy<railwave_group_destroy>>;
using Buffer = std::unique_ptr<railwave_buffer, Destroy<railwave_buffer_destroy>>;
using Received = std::unique_ptr<railwave_received, Destroy<railwave_received_destroy>>;
using Ticket = std::unique_ptr<railwave_ticket, Destroy<railwave_ticket_destroy>>;
using Handle = std::unique_ptr<railwave_handle, Destroy<railwave_handle_destroy>>;

/// A struct with its size, and zero in all other members.
template <class Struct>
Struct sized() {
  Struct made{};
  made.size = sizeof made;
  return made;
}

inline Topology uniform(int nodes, int ranks_per_node, int rails) {
  railwave_topology* topology = nullptr;
  railwave_topology_uniform(nodes, ranks_per_node, rails, &topology);
  return Topology(topology);
}

inline Placement contiguous(int experts, int ranks) {
  railwave_placement* placement = nullptr;
  railwave_placement_contiguous(experts, ranks, &placement);
  return Placement(placement);
}

}  // namespace c_api
