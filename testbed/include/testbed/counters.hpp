// What the rails of an emulated cluster carried and lost.
#pragma once

#include <cstdint>
#include <vector>

namespace railwave::testbed {

/// One node's end of one rail. Bytes count whole frames. Of a missing rail everything is 0.
struct RailCounters {
  std::int64_t tx_bytes = 0;
  std::int64_t rx_bytes = 0;
  std::int64_t nic_drops = 0;   ///< frames lost in the node's own send queue
  std::int64_t port_drops = 0;  ///< frames for this node lost in the switch port's buffer: incast
  friend bool operator==(const RailCounters&, const RailCounters&) = default;
};

/// Counted since the cluster started, or between two such moments.
struct Counters {
  std::vector<std::vector<RailCounters>> rails{};   ///< [N][R]
  std::vector<std::int64_t> tcp_retransmissions{};  ///< [N] segments, over all interfaces of a node
  friend bool operator==(const Counters&, const Counters&) = default;
};

/// later - earlier, entry by entry. REQUIRES: both of the same cluster.
Counters since(const Counters& earlier, const Counters& later);

}  // namespace railwave::testbed
