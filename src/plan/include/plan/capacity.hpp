// How much one rail may be asked to carry, whatever the router says: what buffers are sized by.
#pragma once

#include <cstdint>

#include <railwave/ids.hpp>
#include <railwave/topology.hpp>

namespace railwave::plan {

/// The most records of slice (s, d) that any path may put on `egress_rail` when every rank sends
/// each of its T = max_tokens_per_rank tokens to d:
///   max( T * H_r + ceil(T * stranded / m), ceil(T * G_s * w_r / W) ),
/// H_r = ranks at s with home rail r, stranded = ranks at s whose home rail is not eligible,
/// m = eligible rails, w_r = the rail's weight for the slice, W = their sum over the eligible
/// rails. The first term is the home-rail paths', the second RailBalance's; path spray keeps to the
/// larger. 0 for a rail that is not eligible. REQUIRES: slice of two nodes; 0 <= T, and T * G_s
/// fits into 64 bits. Source: DESIGN 5.1.
std::int64_t worst_case_records(const Topology& topology, NodePair slice, RailId egress_rail,
                                std::int64_t max_tokens_per_rank);

}  // namespace railwave::plan
