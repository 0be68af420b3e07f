#include <charconv>
#include <fstream>
#include <sstream>

#include "base/fail.hpp"
#include "network.hpp"

namespace railwave::testbed {
namespace {

/// The value of a column of the two "Tcp:" lines of /proc/net/snmp, names above values.
std::int64_t tcp_column(std::istream& text, const std::string& wanted) {
  std::string names;
  for (std::string line; std::getline(text, line);) {
    if (line.rfind("Tcp:", 0) != 0) continue;
    if (names.empty()) {
      names = line;
      continue;
    }
    std::istringstream name_of(names);
    std::istringstream value_of(line);
    std::string name;
    std::string value;
    while (name_of >> name && value_of >> value) {
      std::int64_t number = 0;
      if (name == wanted) std::from_chars(value.data(), value.data() + value.size(), number);
      if (name == wanted) return number;
    }
  }
  return 0;
}

template <class Value>
Value value_or_none(const std::map<int, Value>& values, int key) {
  const auto at = values.find(key);
  return at == values.end() ? Value{} : at->second;
}

}  // namespace

Result<std::int64_t> Network::retransmissions(NodeId node) {
  RAILWAVE_TRY(enter_network(nodes_[node.index()].inside));
  std::ifstream text("/proc/thread-self/net/snmp");
  const auto count = tcp_column(text, "RetransSegs");
  RAILWAVE_TRY(enter_network(own_));
  return count;
}

Result<Counters> Network::counters() {
  Counters out;
  const auto port_drops = netlink_.root_drops();
  if (!port_drops) return fail(port_drops.error());
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    auto& node = nodes_[n];
    const auto links = node.netlink.link_counters();
    if (!links) return fail(links.error());
    const auto nic_drops = node.netlink.root_drops();
    if (!nic_drops) return fail(nic_drops.error());
    auto& row = out.rails.emplace_back();
    for (const auto& plug : node.rails) {
      const auto link = value_or_none(*links, plug.device);
      row.push_back({link.tx_bytes, link.rx_bytes, value_or_none(*nic_drops, plug.device),
                     value_or_none(*port_drops, plug.port)});
    }
    const auto resent = retransmissions(NodeId(n));
    if (!resent) return fail(resent.error());
    out.tcp_retransmissions.push_back(*resent);
  }
  return out;
}

Counters since(const Counters& earlier, const Counters& later) {
  Counters out = later;
  for (std::size_t n = 0; n < out.rails.size(); ++n) {
    for (std::size_t r = 0; r < out.rails[n].size(); ++r) {
      auto& entry = out.rails[n][r];
      const auto& before = earlier.rails[n][r];
      entry.tx_bytes -= before.tx_bytes;
      entry.rx_bytes -= before.rx_bytes;
      entry.nic_drops -= before.nic_drops;
      entry.port_drops -= before.port_drops;
    }
    out.tcp_retransmissions[n] -= earlier.tcp_retransmissions[n];
  }
  return out;
}

}  // namespace railwave::testbed
