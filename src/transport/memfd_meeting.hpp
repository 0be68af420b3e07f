// How the ranks of a node find each other and exchange their segments.
//
// Every rank listens at an abstract name made from (user, key, size, local); every rank connects to
// the lower ones. The connecting side sends Hello with its memfd and eventfd, the listening side
// checks it and answers with its own; both then keep the socket. Whoever is not yet there is tried
// again with a growing pause.
#pragma once

#include <cstdint>
#include <vector>

#include <railwave/error.hpp>

#include "base/event_loop.hpp"
#include "memfd_hello.hpp"
#include "segment.hpp"
#include "transport/memfd_fabric.hpp"

namespace railwave::transport {

struct MetNode {
  UniqueFd event;  ///< this rank's own
  Mapping own;
  std::vector<MetPeer> peers;  ///< by local number; this rank's own entry stays empty
};

/// Errors: as meet_over_memfd().
Result<MetNode> meet_node(const MemfdFabricOptions& options);

}  // namespace railwave::transport
