// What every rail checks of a send before it takes it.
#pragma once

#include <span>

#include <fmt/format.h>

#include <railwave/error.hpp>
#include <railwave/ids.hpp>

#include "base/fail.hpp"
#include "transport/frame.hpp"

namespace railwave::transport {

/// Errors: InvalidArgument{peer} when not `connected`; {bytes} when the frame says another size.
inline Status check_send(bool connected, RankId peer, const FrameHeader& frame,
                         std::span<const std::byte> payload) {
  if (!connected) {
    return fail(ErrorCode::InvalidArgument, peer, "peer",
                fmt::format("rank {} is not connected; call connect() first", peer.value));
  }
  if (payload.size() != frame.bytes) {
    return fail(
        ErrorCode::InvalidArgument, peer, "bytes",
        fmt::format("the frame says {} bytes, the payload has {}", frame.bytes, payload.size()));
  }
  return {};
}

}  // namespace railwave::transport
