// The TCP sockets of the control network: non-blocking, without delay, kept alive.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/socket.h>

#include <railwave/error.hpp>

#include "base/event_loop.hpp"

namespace railwave::comm {

/// One address that a host name and port stand for.
struct SocketAddress {
  sockaddr_storage value{};
  socklen_t length = 0;
};

/// All addresses of "host:port". Errors: InvalidArgument{address}.
Result<std::vector<SocketAddress>> resolve(const std::string& host, std::uint16_t port);

/// A socket that listens on this address only, or none and errno.
struct Listening {
  UniqueFd socket;
  int code = 0;
};
Listening listen_on(const SocketAddress& address);
/// Starts to connect; empty when that fails at once. It is done when the socket is ready for output
/// and connected() is true.
std::optional<UniqueFd> start_connecting(const SocketAddress& address);
/// True when the connection stands, and not with itself: a port that nobody listens on may be
/// chosen as the caller's own, and then TCP lets the two ends meet.
bool connected(int socket);

enum class Accepted : std::uint8_t { Connection, None, NoDescriptorLeft };
/// The next connection.
Accepted accept_next(int listener, UniqueFd& socket);

}  // namespace railwave::comm
