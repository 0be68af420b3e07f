// One layer of a trace as traffic on a cluster.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <railwave/error.hpp>
#include <railwave/placement.hpp>
#include <railwave/topology.hpp>

#include "model/traffic.hpp"
#include "workload/trace.hpp"

namespace railwave::workload {

/// With ids the tokens are dealt to the ranks as trace_routing() does, and a token is one row for
/// each node and each rank that has one of its experts.
/// With counts every (token, slot) pair is a row, and the S sources are the P ranks in equal
/// contiguous parts: source i is rank floor(i P / S) when S >= P; else the ranks p with
/// floor(p S / P) = i share each of its counts evenly, what is left over going to one rank each,
/// from the expert's index on in turn. So unknown sources (S = 1) are all ranks alike.
/// Errors: InvalidArgument{layer} out of range, {placement} when it has other experts than the
/// trace or other ranks than the topology.
Result<Traffic> layer_traffic(const Trace& trace, int layer, const Topology& topology,
                              const Placement& placement);

/// [P, N] rows from each rank to each node, own included, when the tokens are routed by
/// trace_routing() with these `max_tokens`: the node_rows of layer_traffic() without [P, P].
/// Errors: as layer_traffic() and trace_routing().
Result<std::vector<std::int64_t>> routed_node_rows(const Trace& trace, int layer,
                                                   const Topology& topology,
                                                   const Placement& placement,
                                                   std::optional<std::int64_t> max_tokens);

}  // namespace railwave::workload
