// The ethtool calls, apart from netlink.cpp since <linux/if.h> and <net/if.h> do not mix.
#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/event_loop.hpp"
#include "base/fail.hpp"
#include "netlink.hpp"

namespace railwave::testbed {

Status turn_offloads_off(const std::string& link) {
  const UniqueFd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  for (const std::uint32_t feature : {ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO}) {
    ethtool_value value{feature, 0};
    ifreq request{};
    std::strncpy(request.ifr_name, link.c_str(), IFNAMSIZ - 1);
    request.ifr_data = reinterpret_cast<char*>(&value);
    if (::ioctl(socket.get(), SIOCETHTOOL, &request) != 0) {
      return fail(ErrorCode::Unsupported, "offloads",
                  fmt::format("can not turn segmentation offload of {} off: {}", link,
                              std::strerror(errno)));
    }
  }
  return {};
}

}  // namespace railwave::testbed
