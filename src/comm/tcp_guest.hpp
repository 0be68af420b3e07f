// Every rank but 0 of the TCP all-gather.
#pragma once

#include <memory>

#include "comm/bootstrap.hpp"

namespace railwave::comm {

/// Connects to rank 0, trying again until it listens, and waits for its welcome.
/// Errors: as meet_over_tcp().
Result<std::unique_ptr<AllGather>> visit_rank_0(const TcpBootstrapOptions& options);

}  // namespace railwave::comm
