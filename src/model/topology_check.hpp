// Whether Topology::Options describe a cluster at all.
#pragma once

#include <railwave/error.hpp>
#include <railwave/topology.hpp>

namespace railwave {

/// Shapes and ranges of every option; eligibility is not looked at.
/// Errors: InvalidArgument naming the option, the node and the value.
Status check_options(const Topology::Options& options);

}  // namespace railwave
