// What one rank saw of one phase: times, bytes and fan-in, counted from arrivals.
#pragma once

#include <cstdint>
#include <vector>

#include <railwave/ids.hpp>

namespace railwave {

/// A sender's time at one of this rank's rails, from its first to its last byte of a window.
struct SenderInterval {
  NodeId source;
  RailId rail;  ///< ingress rail
  std::uint32_t window = 0;
  std::int64_t first_ns = 0;  ///< steady clock
  std::int64_t last_ns = 0;
  std::int64_t bytes = 0;  ///< payload
};

/// Units: seconds and bytes. Threads: a value.
struct PhaseReport {
  double header_s = 0;    ///< the header exchange
  double plan_s = 0;      ///< planning
  double pack_s = 0;      ///< copying own rows to where they leave from
  double relocate_s = 0;  ///< packing other ranks' records that this rank sends for them
  double prepack_s = 0;   ///< Packing::Prepacked: until the last frame of the phase was packed
  double wire_s = 0;      ///< from the first window's start to the last byte in or out
  double reorder_s = 0;   ///< forwarding and reordering (dispatch), reducing (combine)
  double total_s = 0;
  int max_fan_in = 0;              ///< most source nodes active at once at one of this rank's rails
  std::int64_t overlap_bytes = 0;  ///< most bytes, on one rail and window, that came while an
                                   ///< earlier sender was still active
  std::int64_t overlap_total = 0;  ///< the sum of such bytes over rails and windows
  std::vector<std::int64_t> sent_bytes{};      ///< [R] row bytes sent by egress rail
  std::vector<std::int64_t> received_bytes{};  ///< [R] row bytes received by ingress rail
  std::vector<std::int64_t> sent_records{};    ///< [R]
  std::vector<SenderInterval> intervals{};
};

}  // namespace railwave
