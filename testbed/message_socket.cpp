#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <poll.h>
#include <sys/socket.h>

#include "base/fail.hpp"
#include "message.hpp"

namespace railwave::testbed {
namespace {

constexpr std::size_t kMostDescriptors = 8;

tl::unexpected<Error> gone() {
  return fail(ErrorCode::PeerFailed, "cluster", "the emulated cluster's processes are gone");
}

Status wait_readable(int socket, Deadline deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd watched{socket, POLLIN, 0};
    const int ready =
        ::poll(&watched, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, 3'600'000)));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return gone();
    if (ready == 0 && Clock::now() >= deadline) {
      return fail(ErrorCode::Timeout, "cluster", "the switch process of the cluster is late");
    }
  }
}

void keep_descriptors(const msghdr& header, std::vector<UniqueFd>& into) {
  for (const auto* part = CMSG_FIRSTHDR(&header); part != nullptr;
       part = CMSG_NXTHDR(const_cast<msghdr*>(&header), const_cast<cmsghdr*>(part))) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(part) + i * sizeof(int), sizeof(int));
      into.emplace_back(descriptor);
    }
  }
}

/// Reads `size` bytes, and the descriptors that come with them.
Status receive_all(int socket, char* to, std::size_t size, std::vector<UniqueFd>& descriptors,
                   Deadline deadline) {
  while (size > 0) {
    RAILWAVE_TRY(wait_readable(socket, deadline));
    alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int))> control{};
    iovec part{to, size};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
    const auto got = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return gone();
    keep_descriptors(header, descriptors);
    to += got;
    size -= static_cast<std::size_t>(got);
  }
  return {};
}

}  // namespace

Status send_message(int socket, std::string_view bytes, std::span<const int> descriptors) {
  const std::uint64_t size = bytes.size();
  std::string all(reinterpret_cast<const char*>(&size), sizeof size);
  all += bytes;
  alignas(cmsghdr) std::array<char, CMSG_SPACE(kMostDescriptors * sizeof(int))> control{};
  std::size_t sent = 0;
  while (sent < all.size()) {
    iovec part{all.data() + sent, all.size() - sent};
    msghdr header{};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    if (sent == 0 && !descriptors.empty()) {
      header.msg_control = control.data();
      header.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
      auto* rights = CMSG_FIRSTHDR(&header);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(descriptors.size_bytes());
      std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size_bytes());
    }
    const auto count = ::sendmsg(socket, &header, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return gone();
    sent += static_cast<std::size_t>(count);
  }
  return {};
}

Result<Message> receive_message(int socket, Deadline deadline) {
  Message message;
  std::uint64_t size = 0;
  RAILWAVE_TRY(receive_all(socket, reinterpret_cast<char*>(&size), sizeof size, message.descriptors,
                           deadline));
  message.bytes.resize(size);
  RAILWAVE_TRY(receive_all(socket, message.bytes.data(), size, message.descriptors, deadline));
  return message;
}

}  // namespace railwave::testbed
