// Rank 0 of the TCP all-gather: collects the parts and hands them out.
#pragma once

#include <memory>
#include <vector>

#include "base/event_loop.hpp"
#include "bootstrap_channel.hpp"
#include "comm/bootstrap.hpp"

namespace railwave::comm {

/// `members` are the channels of the other ranks, by rank; [0] is closed.
Result<std::unique_ptr<AllGather>> make_tcp_host(std::vector<Channel> members);

}  // namespace railwave::comm
