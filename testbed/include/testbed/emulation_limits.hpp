// What of a cluster this machine can imitate. Fewer nodes and slower rails than a cluster.toml may
// have: every rank is a process here, every rail passes through this machine's processors.
#pragma once

#include <cstdint>

#include <railwave/error.hpp>

#include "testbed/cluster_spec.hpp"

namespace railwave::testbed {

/// A node is the last byte of an address: 10.{bridge+1}.0.{node+1}.
inline constexpr int kMostEmulatedNodes = 250;
/// The kernel's token bucket takes a rate as 32 bits, in bytes/s; this is what it surely holds.
inline constexpr std::int64_t kMostEmulatedRate = 16'000'000'000;  ///< bit/s
/// Below this a frame takes the better part of a second.
inline constexpr std::int64_t kLeastEmulatedRate = 100'000;  ///< bit/s

/// Errors: InvalidArgument{nodes}, {rate} or {rail_rate}; the sentence has the value, its node and
/// rail, the limit, and what to do. REQUIRES: validate(spec).
Status check_emulation(const ClusterSpec& spec);

}  // namespace railwave::testbed
