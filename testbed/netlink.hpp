// The few netlink requests the testbed needs, on one socket that stays in its network namespace.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include <railwave/error.hpp>

#include "testbed/cluster_spec.hpp"

struct nl_sock;

namespace railwave::testbed {

using MacAddress = std::array<std::uint8_t, 6>;

struct Veth {
  std::string port;  ///< the end in this namespace
  int bridge = 0;    ///< interface index of the bridge it is attached to
  std::string peer;  ///< the end in the other namespace
  MacAddress peer_mac{};
  int peer_namespace = -1;
  int mtu = 1500;
};

/// A token bucket. Units: bit/s, bytes, bytes.
struct Tbf {
  std::int64_t rate = 0;
  std::int64_t burst = 0;
  std::int64_t limit = 0;
};

struct RailRoute {
  Ipv4 own{};  ///< the route leads to own/24 and prefers own as source
  std::string congestion{};
  std::uint32_t rto_min_ms = 0;
};

struct LinkCounters {
  std::int64_t tx_bytes = 0;
  std::int64_t rx_bytes = 0;
};

/// Threads: belongs to one thread. Errors of all calls: Unsupported when the kernel lacks or
/// forbids what is asked, Internal otherwise; the field names the request.
class Netlink {
 public:
  /// A socket in the network namespace in which the calling thread is now.
  static Result<Netlink> open();

  Result<int> add_bridge(const std::string& name, int mtu);
  Status add_veth(const Veth& veth);
  Result<int> index_of(const std::string& name);
  Status set_up(int link, bool up);
  Status set_tbf(int link, const Tbf& tbf);
  /// With a /24 prefix; `connected_route` leaves the route to the kernel.
  Status add_address(int link, const Ipv4& address, bool connected_route);
  /// Errors: InvalidArgument (congestion) when the kernel does not know the congestion control.
  Status add_route(int link, const RailRoute& route);
  Status add_neighbour(int link, const Ipv4& address, const MacAddress& mac);
  Result<std::map<int, LinkCounters>> link_counters();
  /// Drops of the root queue by interface index.
  Result<std::map<int, std::int64_t>> root_drops();

 private:
  struct Close {
    void operator()(nl_sock* socket) const;
  };
  std::unique_ptr<nl_sock, Close> socket_;
};

/// Segmentation and receive offload off, so that the queues see frames and not 64 kB lumps.
/// Acts in the calling thread's network namespace.
Status turn_offloads_off(const std::string& link);

}  // namespace railwave::testbed
