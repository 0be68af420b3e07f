// Plain TCP connections of one rank along the rails, and bytes over them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <railwave/error.hpp>
#include <railwave/topology.hpp>

#include "base/event_loop.hpp"
#include "network_flows.hpp"
#include "phase_start.hpp"

namespace railwave::cli {

/// This rank's ends of the flows, each a connection of its own between the addresses of the two
/// devices. Threads: belongs to one thread.
class NetworkConnections {
 public:
  struct Setup {
    RankId self;
    const Topology* topology = nullptr;
    const std::vector<NetworkFlow>* flows = nullptr;
    std::vector<std::string> devices{};  ///< [R] of this node's rails
    Gather gather{};
    std::uint64_t seed = 1;
  };
  /// Connects all flows. Every rank calls it.
  /// Errors: InvalidArgument for a device without an IPv4 address; ResourceExhausted; Timeout.
  static Result<NetworkConnections> connect(Setup setup);

  /// Makes contents and room for transfers of this size; not timed.
  void prepare(std::int64_t bytes);
  /// Moves the flows for which `selected` says so, at once. ended[flow]: when this rank had the
  /// last byte that it receives. Errors: Timeout naming the flow; PeerFailed.
  Status move(const std::function<bool(const NetworkFlow&)>& selected, Deadline deadline,
              std::map<std::size_t, Clock::time_point>& ended);
  /// Whether what came over a flow is what was sent; forgets it.
  bool check(std::size_t flow);

 private:
  struct End {
    std::size_t flow = 0;
    bool sends = false;
    UniqueFd socket{};
    std::vector<std::byte> bytes{};
    std::size_t done = 0;
  };
  explicit NetworkConnections(Setup setup) : setup_(std::move(setup)) {}
  Status listen(std::vector<std::byte>& addresses);
  Status call(const std::vector<std::vector<std::byte>>& addresses);
  Status accept_all();
  [[nodiscard]] RankId sender_of(const NetworkFlow& flow) const;
  [[nodiscard]] RankId receiver_of(const NetworkFlow& flow) const;
  void fill(std::size_t flow, std::span<std::byte> out) const;
  static Result<bool> step(End& end);
  [[nodiscard]] Error late(const End& end) const;

  Setup setup_;
  std::map<RailId, UniqueFd> listeners_;
  std::vector<End> ends_;
};

}  // namespace railwave::cli
