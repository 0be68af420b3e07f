// The cluster's network as its switch sees it: bridges, ports, nodes.
#pragma once

#include <cstdint>
#include <vector>

#include <railwave/ids.hpp>

#include "namespaces.hpp"
#include "netlink.hpp"
#include "testbed/cluster.hpp"

namespace railwave::testbed {

/// Threads: belongs to the switch process's one thread, which is in the switch's own namespaces
/// before and after every call. Errors: as Netlink.
class Network {
 public:
  static Result<Network> build(const ClusterSpec& spec);

  [[nodiscard]] const NamespaceSet& node(NodeId node) const { return nodes_[node.index()].inside; }
  [[nodiscard]] const NamespaceSet& own() const { return own_; }
  Result<Counters> counters();
  Status set_rail_up(NodeId node, RailId rail, bool up);
  Status set_rail_rate(NodeId node, RailId rail, std::int64_t rate);
  Status set_rail_cut(NodeId node, RailId rail, Direction direction, bool cut);
  /// Every interface of the node, control too.
  Status set_node_up(NodeId node, bool up);

 private:
  struct Plug {  ///< one node's end of one rail; port 0: the node lacks the rail
    int port = 0;
    int device = 0;
    std::int64_t rate = 0;
    bool cut_egress = false;
    bool cut_ingress = false;
  };
  struct Node {
    NamespaceSet inside;
    Netlink netlink;
    int control_port = 0;
    std::vector<Plug> rails;  // [R]
  };

  Network(ClusterSpec spec, NamespaceSet own, Netlink netlink);
  Status add_bridges();
  Status add_node(NodeId node);
  Status enter_new_node(NodeId node);
  Status plug_in_control(NodeId node);
  Status plug_in_rail(NodeId node, RailId rail);
  Status configure_rail(NodeId node, RailId rail);
  Status add_neighbours(NodeId node);
  Status shape(NodeId node, RailId rail);
  Result<Plug*> plug(NodeId node, RailId rail);
  Result<std::int64_t> retransmissions(NodeId node);

  ClusterSpec spec_;
  NamespaceSet own_;
  Netlink netlink_;
  std::vector<int> bridges_;  // [R]
  int control_bridge_ = 0;
  std::vector<Node> nodes_;  // [N]
};

}  // namespace railwave::testbed
