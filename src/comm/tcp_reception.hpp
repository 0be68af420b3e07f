// Rank 0's door: lets in the ranks of the job and nobody else.
#pragma once

#include <vector>

#include <railwave/error.hpp>

#include "base/event_loop.hpp"
#include "bootstrap_channel.hpp"
#include "comm/bootstrap.hpp"

namespace railwave::comm {

/// Listens until every other rank is here; their channels by rank, [0] closed. Each of them has
/// been sent Welcome, or on failure why.
/// Errors: as meet_over_tcp().
Result<std::vector<Channel>> receive_ranks(const TcpBootstrapOptions& options);

}  // namespace railwave::comm
