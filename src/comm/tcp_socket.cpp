#include "tcp_socket.hpp"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "base/fail.hpp"

namespace railwave::comm {
namespace {

constexpr int kBacklog = 1024;

void set_option(int socket, int level, int name, int value) {
  // Every one of them only tunes: a kernel without it still serves.
  static_cast<void>(::setsockopt(socket, level, name, &value, sizeof(value)));
}

/// A host that is cut off answers no more: its kernel is silent for 5 s before it counts as gone.
void tune(int socket) {
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, 2);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, 5000);
}

UniqueFd stream_socket(const SocketAddress& address) {
  return UniqueFd(
      ::socket(address.value.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
}

const sockaddr* raw(const SocketAddress& address) {
  return reinterpret_cast<const sockaddr*>(&address.value);
}

bool meets_itself(int socket) {
  SocketAddress near;
  SocketAddress far;
  near.length = far.length = sizeof(sockaddr_storage);
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&near.value), &near.length) != 0 ||
      ::getpeername(socket, reinterpret_cast<sockaddr*>(&far.value), &far.length) != 0) {
    return true;
  }
  return near.length == far.length && std::memcmp(&near.value, &far.value, near.length) == 0;
}

}  // namespace

Result<std::vector<SocketAddress>> resolve(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int code = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (code != 0) {
    return fail(ErrorCode::InvalidArgument, "address",
                fmt::format("'{}' is no address of a host: {}", host, ::gai_strerror(code)));
  }
  std::vector<SocketAddress> addresses;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    SocketAddress& address = addresses.emplace_back();
    std::memcpy(&address.value, entry->ai_addr, entry->ai_addrlen);
    address.length = entry->ai_addrlen;
  }
  ::freeaddrinfo(list);
  return addresses;
}

Listening listen_on(const SocketAddress& address) {
  Listening result{stream_socket(address), 0};
  // Without it a port stays unusable for a minute after a job that ended there.
  if (result.socket) set_option(result.socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (result.socket && ::bind(result.socket.get(), raw(address), address.length) == 0 &&
      ::listen(result.socket.get(), kBacklog) == 0) {
    return result;
  }
  return Listening{UniqueFd(), errno};
}

std::optional<UniqueFd> start_connecting(const SocketAddress& address) {
  UniqueFd socket = stream_socket(address);
  if (!socket) return std::nullopt;
  tune(socket.get());
  const int code = ::connect(socket.get(), raw(address), address.length);
  if (code == 0 || errno == EINPROGRESS || errno == EINTR) return socket;
  return std::nullopt;
}

bool connected(int socket) {
  int code = 0;
  socklen_t length = sizeof(code);
  if (::getsockopt(socket, SOL_SOCKET, SO_ERROR, &code, &length) != 0 || code != 0) return false;
  return !meets_itself(socket);
}

Accepted accept_next(int listener, UniqueFd& socket) {
  while (true) {
    socket = UniqueFd(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (socket) {
      tune(socket.get());
      return Accepted::Connection;
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
      return Accepted::NoDescriptorLeft;
    }
    // A connection that was reset while it waited is its end only, not the queue's.
    if (errno != EINTR && errno != ECONNABORTED) return Accepted::None;
  }
}

}  // namespace railwave::comm
