#include "netlink.hpp"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <net/if.h>
#include <netlink/attr.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/link/veth.h>
#include <netlink/route/neighbour.h>
#include <netlink/route/qdisc.h>
#include <netlink/route/qdisc/tbf.h>
#include <netlink/route/route.h>

#include "base/fail.hpp"

namespace railwave::testbed {
namespace {

template <auto release>
struct Releaser {
  template <class T>
  void operator()(T* object) const {
    release(object);
  }
};
template <class T, auto release>
using Owned = std::unique_ptr<T, Releaser<release>>;
using Link = Owned<rtnl_link, rtnl_link_put>;
using Qdisc = Owned<rtnl_qdisc, rtnl_qdisc_put>;
using Address = Owned<nl_addr, nl_addr_put>;
using Cache = Owned<nl_cache, nl_cache_free>;

Status checked(int code, std::string_view request, std::string_view object) {
  if (code >= 0) return {};
  const bool missing = code == -NLE_OPNOTSUPP || code == -NLE_PERM || code == -NLE_NOACCESS ||
                       code == -NLE_OBJ_NOTFOUND;
  return fail(
      missing ? ErrorCode::Unsupported : ErrorCode::Internal, std::string(request),
      fmt::format("the kernel answered '{}' to '{}' of {}{}", nl_geterror(code), request, object,
                  missing ? "; enable bridge, veth and sch_tbf in the kernel and allow "
                            "user namespaces to use them"
                          : ""));
}

Address ipv4(const Ipv4& bytes, int prefix) {
  Address address(nl_addr_build(AF_INET, bytes.data(), bytes.size()));
  nl_addr_set_prefixlen(address.get(), prefix);
  return address;
}

Address mac(const MacAddress& bytes) {
  return Address(nl_addr_build(AF_LLC, bytes.data(), bytes.size()));
}

std::string link_name(int index) { return fmt::format("interface {}", index); }

}  // namespace

void Netlink::Close::operator()(nl_sock* socket) const { nl_socket_free(socket); }

Result<Netlink> Netlink::open() {
  Netlink netlink;
  netlink.socket_.reset(nl_socket_alloc());
  RAILWAVE_TRY(checked(nl_connect(netlink.socket_.get(), NETLINK_ROUTE), "connect", "netlink"));
  return netlink;
}

Result<int> Netlink::add_bridge(const std::string& name, int mtu) {
  ifinfomsg header{};
  header.ifi_flags = IFF_UP;
  header.ifi_change = IFF_UP;
  auto* request = nlmsg_alloc_simple(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
  nlmsg_append(request, &header, sizeof header, NLMSG_ALIGNTO);
  nla_put_string(request, IFLA_IFNAME, name.c_str());
  nla_put_u32(request, IFLA_MTU, static_cast<std::uint32_t>(mtu));
  auto* details = nla_nest_start(request, IFLA_LINKINFO);
  nla_put_string(request, IFLA_INFO_KIND, "bridge");
  // A snooping bridge sends frames of its own, which would show in the rails' counters; libnl has
  // no call for it.
  auto* settings = nla_nest_start(request, IFLA_INFO_DATA);
  nla_put_u8(request, IFLA_BR_MCAST_SNOOPING, 0);
  nla_nest_end(request, settings);
  nla_nest_end(request, details);
  RAILWAVE_TRY(checked(nl_send_sync(socket_.get(), request), "add bridge", name));
  return index_of(name);
}

Status Netlink::add_veth(const Veth& veth) {
  const Link link(rtnl_link_veth_alloc());
  const auto mtu = static_cast<unsigned>(veth.mtu);
  rtnl_link_set_name(link.get(), veth.port.c_str());
  rtnl_link_set_mtu(link.get(), mtu);
  rtnl_link_set_master(link.get(), veth.bridge);
  rtnl_link_set_flags(link.get(), IFF_UP);
  const Link peer(rtnl_link_veth_get_peer(link.get()));
  rtnl_link_set_name(peer.get(), veth.peer.c_str());
  rtnl_link_set_mtu(peer.get(), mtu);
  rtnl_link_set_addr(peer.get(), mac(veth.peer_mac).get());
  rtnl_link_set_ns_fd(peer.get(), veth.peer_namespace);
  return checked(rtnl_link_add(socket_.get(), link.get(), NLM_F_CREATE | NLM_F_EXCL), "add veth",
                 veth.port);
}

Result<int> Netlink::index_of(const std::string& name) {
  rtnl_link* found = nullptr;
  RAILWAVE_TRY(
      checked(rtnl_link_get_kernel(socket_.get(), 0, name.c_str(), &found), "get link", name));
  const Link link(found);
  return rtnl_link_get_ifindex(link.get());
}

Status Netlink::set_up(int index, bool up) {
  const Link link(rtnl_link_alloc());
  rtnl_link_set_ifindex(link.get(), index);
  const Link change(rtnl_link_alloc());
  if (up) {
    rtnl_link_set_flags(change.get(), IFF_UP);
  } else {
    rtnl_link_unset_flags(change.get(), IFF_UP);
  }
  return checked(rtnl_link_change(socket_.get(), link.get(), change.get(), 0), "set link",
                 link_name(index));
}

Status Netlink::set_tbf(int index, const Tbf& tbf) {
  const Qdisc qdisc(rtnl_qdisc_alloc());
  auto* tc = TC_CAST(qdisc.get());
  rtnl_tc_set_ifindex(tc, index);
  rtnl_tc_set_parent(tc, TC_H_ROOT);
  rtnl_tc_set_handle(tc, TC_HANDLE(1, 0));
  RAILWAVE_TRY(checked(rtnl_tc_set_kind(tc, "tbf"), "add tbf", link_name(index)));
  rtnl_qdisc_tbf_set_limit(qdisc.get(), static_cast<int>(tbf.limit));
  rtnl_qdisc_tbf_set_rate(qdisc.get(), static_cast<int>(tbf.rate / 8), static_cast<int>(tbf.burst),
                          0);
  return checked(rtnl_qdisc_add(socket_.get(), qdisc.get(), NLM_F_CREATE | NLM_F_REPLACE),
                 "add tbf", link_name(index));
}

Status Netlink::add_address(int index, const Ipv4& bytes, bool connected_route) {
  const Owned<rtnl_addr, rtnl_addr_put> address(rtnl_addr_alloc());
  rtnl_addr_set_ifindex(address.get(), index);
  rtnl_addr_set_local(address.get(), ipv4(bytes, 24).get());
  if (!connected_route) rtnl_addr_set_flags(address.get(), IFA_F_NOPREFIXROUTE);
  return checked(rtnl_addr_add(socket_.get(), address.get(), 0), "add address", link_name(index));
}

Status Netlink::add_route(int index, const RailRoute& options) {
  const Owned<rtnl_route, rtnl_route_put> route(rtnl_route_alloc());
  auto network = options.own;
  network[3] = 0;
  rtnl_route_set_family(route.get(), AF_INET);
  rtnl_route_set_scope(route.get(), RT_SCOPE_LINK);
  rtnl_route_set_protocol(route.get(), RTPROT_STATIC);
  rtnl_route_set_dst(route.get(), ipv4(network, 24).get());
  rtnl_route_set_pref_src(route.get(), ipv4(options.own, 32).get());
  auto* hop = rtnl_route_nh_alloc();
  rtnl_route_nh_set_ifindex(hop, index);
  rtnl_route_add_nexthop(route.get(), hop);
  nl_msg* request = nullptr;
  RAILWAVE_TRY(checked(rtnl_route_build_add_request(route.get(), NLM_F_CREATE, &request),
                       "add route", link_name(index)));
  // libnl's own metrics are 32-bit numbers; the congestion control is a string.
  auto* metrics = nla_nest_start(request, RTA_METRICS);
  nla_put_u32(request, RTAX_RTO_MIN, options.rto_min_ms);
  nla_put_u32(request, RTAX_LOCK, 1U << RTAX_RTO_MIN);  // else the kernel keeps its 200 ms
  nla_put_string(request, RTAX_CC_ALGO, options.congestion.c_str());
  nla_nest_end(request, metrics);
  const int code = nl_send_sync(socket_.get(), request);
  if (code == -NLE_INVAL) {
    return fail(ErrorCode::InvalidArgument, "congestion",
                fmt::format("the kernel has no TCP congestion control '{}'; see "
                            "/proc/sys/net/ipv4/tcp_available_congestion_control",
                            options.congestion));
  }
  return checked(code, "add route", link_name(index));
}

Status Netlink::add_neighbour(int index, const Ipv4& address, const MacAddress& link_address) {
  const Owned<rtnl_neigh, rtnl_neigh_put> neighbour(rtnl_neigh_alloc());
  rtnl_neigh_set_ifindex(neighbour.get(), index);
  rtnl_neigh_set_dst(neighbour.get(), ipv4(address, 32).get());
  rtnl_neigh_set_lladdr(neighbour.get(), mac(link_address).get());
  rtnl_neigh_set_state(neighbour.get(), NUD_PERMANENT);
  return checked(rtnl_neigh_add(socket_.get(), neighbour.get(), NLM_F_CREATE), "add neighbour",
                 link_name(index));
}

Result<std::map<int, LinkCounters>> Netlink::link_counters() {
  nl_cache* raw = nullptr;
  RAILWAVE_TRY(
      checked(rtnl_link_alloc_cache(socket_.get(), AF_UNSPEC, &raw), "list links", "the node"));
  const Cache cache(raw);
  std::map<int, LinkCounters> out;
  for (auto* at = nl_cache_get_first(cache.get()); at != nullptr; at = nl_cache_get_next(at)) {
    auto* link = reinterpret_cast<rtnl_link*>(at);
    out[rtnl_link_get_ifindex(link)] = {
        static_cast<std::int64_t>(rtnl_link_get_stat(link, RTNL_LINK_TX_BYTES)),
        static_cast<std::int64_t>(rtnl_link_get_stat(link, RTNL_LINK_RX_BYTES))};
  }
  return out;
}

Result<std::map<int, std::int64_t>> Netlink::root_drops() {
  nl_cache* raw = nullptr;
  RAILWAVE_TRY(checked(rtnl_qdisc_alloc_cache(socket_.get(), &raw), "list queues", "the node"));
  const Cache cache(raw);
  std::map<int, std::int64_t> out;
  for (auto* at = nl_cache_get_first(cache.get()); at != nullptr; at = nl_cache_get_next(at)) {
    auto* tc = TC_CAST(reinterpret_cast<rtnl_qdisc*>(at));
    if (rtnl_tc_get_parent(tc) != TC_H_ROOT) continue;
    out[rtnl_tc_get_ifindex(tc)] = static_cast<std::int64_t>(rtnl_tc_get_stat(tc, RTNL_TC_DROPS));
  }
  return out;
}

}  // namespace railwave::testbed
