// The clock of a measurement: all ranks start a phase at the same moment.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include <railwave/error.hpp>

#include "base/event_loop.hpp"

namespace railwave::cli {

/// Gives this rank's bytes to all and returns everyone's, by rank.
using Gather =
    std::function<Result<std::vector<std::vector<std::byte>>>(std::span<const std::byte>)>;

/// When the latest rank came here. Nobody returns before it came. The ranks' clock must be one:
/// that of one machine. Errors: those of `gather`.
Result<Clock::time_point> all_here(const Gather& gather);

/// All ranks leave at the same moment, which is returned: the latest rank's, plus what a message to
/// all takes. Errors: those of `gather`; ResourceExhausted without a timer.
Result<Clock::time_point> common_start(const Gather& gather);

}  // namespace railwave::cli
