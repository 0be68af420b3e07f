#include "unix_packet.hpp"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/checked.hpp"
#include "base/fail.hpp"

namespace railwave::transport {
namespace {

constexpr int kBacklog = 256;

struct AbstractAddress {
  sockaddr_un value{};
  socklen_t length = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&value); }
};

/// A name that starts with a zero byte lives in no file system: the last close ends it.
AbstractAddress abstract_address(const std::string& name) {
  AbstractAddress address;
  RAILWAVE_CHECK(name.size() + 1 < sizeof(address.value.sun_path));
  address.value.sun_family = AF_UNIX;
  std::memcpy(address.value.sun_path + 1, name.data(), name.size());
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

tl::unexpected<Error> socket_error(const char* call) {
  return fail(ErrorCode::ResourceExhausted, call,
              fmt::format("{} of the node's meeting point failed: {}", call, std::strerror(errno)));
}

UniqueFd packet_socket() {
  return UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

/// Room for the descriptors in front of a packet, aligned as the kernel wants it.
struct alignas(cmsghdr) ControlBuffer {
  std::array<char, CMSG_SPACE(sizeof(int) * kPacketFds)> bytes{};
};

/// Every descriptor that came is owned at once, so that a stranger's are closed again.
void take_fds(msghdr& message, Packet& packet) {
  std::size_t taken = 0;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      UniqueFd owned(fd);
      if (taken < kPacketFds) packet.fds[taken++] = std::move(owned);
    }
  }
  packet.whole = taken == kPacketFds && (message.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) == 0;
}

}  // namespace

Result<std::optional<UniqueFd>> listen_at(const std::string& name) {
  UniqueFd socket = packet_socket();
  if (!socket) return socket_error("socket");
  const AbstractAddress address = abstract_address(name);
  if (::bind(socket.get(), address.get(), address.length) != 0) {
    if (errno == EADDRINUSE) return std::nullopt;
    return socket_error("bind");
  }
  if (::listen(socket.get(), kBacklog) != 0) return socket_error("listen");
  return socket;
}

Result<std::optional<UniqueFd>> connect_to(const std::string& name) {
  UniqueFd socket = packet_socket();
  if (!socket) return socket_error("socket");
  const AbstractAddress address = abstract_address(name);
  if (::connect(socket.get(), address.get(), address.length) == 0) return socket;
  const bool nobody = errno == ECONNREFUSED || errno == EAGAIN || errno == EINTR;
  if (nobody) return std::nullopt;
  return socket_error("connect");
}

Result<std::optional<UniqueFd>> accept_from(int listener) {
  UniqueFd socket(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket) return socket;
  if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
    return socket_error("accept4");
  }
  return std::nullopt;
}

bool same_user(int socket) {
  ucred peer{};
  socklen_t length = sizeof(peer);
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
         peer.uid == ::geteuid();
}

bool hung_up(int socket) {
  std::byte byte{};
  const auto got = ::recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

bool send_packet(int socket, std::span<const std::byte> bytes,
                 const std::array<int, kPacketFds>& fds) {
  ControlBuffer control;
  iovec part{const_cast<std::byte*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  cmsghdr* rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(fds));
  std::memcpy(CMSG_DATA(rights), fds.data(), sizeof(fds));
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(bytes.size());
}

std::optional<Packet> receive_packet(int socket, std::span<std::byte> buffer) {
  ControlBuffer control;
  iovec part{buffer.data(), buffer.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes.data();
  message.msg_controllen = control.bytes.size();
  ssize_t got = 0;
  do {
    got = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0 && errno == EAGAIN) return std::nullopt;
  Packet packet;
  if (got < 0) return packet;
  take_fds(message, packet);
  packet.bytes = static_cast<std::size_t>(got);
  return packet;
}

}  // namespace railwave::transport
