// The check before a measurement: is it the rails that limit, and do they?
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <railwave/ids.hpp>

namespace railwave::testbed {

/// Below this share of the nominal rate the machine is the limit, not the rails.
constexpr double kLeastShare = 0.93;
/// Below this share of bytes/rate a lone transfer was too fast: shaping does not work.
constexpr double kLeastLoneTime = 0.95;

/// One sender and its only receiver on one rail.
struct GateFlow {
  NodeId source;
  RailId egress;
  NodeId destination;
  RailId ingress;
  double share = 0;  ///< payload rate over the slower end's nominal rate, all rails at once
};

struct GateResult {
  std::vector<GateFlow> flows{};
  double lowest_share = 0;
  double lone_time = 0;  ///< least time of a lone 256 KiB transfer over (bytes - burst) / rate
  std::int64_t retransmissions = 0;  ///< TCP segments sent again, over all nodes; no rail is shared
  bool machine_is_limit = false;     ///< lowest_share < kLeastShare
  bool shaping_works = false;        ///< lone_time >= kLeastLoneTime
  [[nodiscard]] bool passed() const { return shaping_works && !machine_is_limit; }
  /// One sentence for people.
  [[nodiscard]] std::string sentence() const;
};

}  // namespace railwave::testbed
