// Checks of what a group is made with, and the agreement on it.
#pragma once

#include <railwave/communicator.hpp>
#include <railwave/error.hpp>

#include "comm/bootstrap.hpp"
#include "exec/limits.hpp"

namespace railwave::comm {

/// What sizes are made of: after it limits_of() and SegmentMap::of() can not overflow.
/// Errors: InvalidArgument naming the option; Unsupported for a dtype that is not built yet.
Status check_sizes(const Topology& topology, const CommunicatorOptions& options);

/// Errors: those of check_sizes(); InvalidArgument naming the option.
Status check_settings(const Topology& topology, const Placement& placement,
                      const CommunicatorOptions& options);

/// Every rank tells its settings, also one whose own are wrong, so that nobody waits for it.
/// Errors: `own` where it is one; PeerRejected naming the lowest rank whose check failed; Mismatch
/// naming the field and the lowest rank that is not of the majority (a tie: not of rank 0's value);
/// Timeout, PeerFailed.
Status agree_on_settings(AllGather& all_gather, const Topology& topology,
                         const Placement& placement, const CommunicatorOptions& options,
                         const Status& own, Deadline deadline);

/// REQUIRES: checked options.
exec::Limits limits_of(const CommunicatorOptions& options);

}  // namespace railwave::comm
