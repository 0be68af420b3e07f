#include "gate_connection.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fail.hpp"

namespace railwave::testbed {
namespace {

constexpr int kConnectMilliseconds = 5000;

sockaddr_in address_of(const Ipv4& bytes) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  std::memcpy(&address.sin_addr, bytes.data(), bytes.size());
  return address;
}

/// A socket bound to `own` in the node's network; the caller is in the switch's again afterwards.
Result<UniqueFd> socket_in(Network& network, NodeId node, const Ipv4& own) {
  RAILWAVE_TRY(enter_network(network.node(node)));
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  RAILWAVE_TRY(enter_network(network.own()));
  const auto address = address_of(own);
  if (!socket ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return fail(system_failure("bind a socket of the gate", errno));
  }
  return socket;
}

bool ready(int socket, short events) {
  pollfd watched{socket, events, 0};
  return ::poll(&watched, 1, kConnectMilliseconds) == 1 && (watched.revents & events) != 0;
}

}  // namespace

std::int64_t nominal_rate(const ClusterSpec& spec, const GateFlow& flow) {
  return std::min(spec.rate_of(flow.source, flow.egress),
                  spec.rate_of(flow.destination, flow.ingress));
}

Result<GateConnection> connect_along(Network& network, const ClusterSpec& spec,
                                     const GateFlow& flow) {
  auto listener =
      socket_in(network, flow.destination, rail_address(spec, flow.destination, flow.ingress));
  if (!listener) return fail(listener.error());
  auto sender = socket_in(network, flow.source, rail_address(spec, flow.source, flow.egress));
  if (!sender) return fail(sender.error());
  sockaddr_in address{};
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::listen(listener->get(), 1) != 0 || ::getsockname(listener->get(), generic, &size) != 0) {
    return fail(system_failure("listen for the gate", errno));
  }
  const bool begun = ::connect(sender->get(), generic, size) == 0 || errno == EINPROGRESS;
  if (begun && ready(listener->get(), POLLIN)) {
    UniqueFd receiver(::accept4(listener->get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (receiver && ready(sender->get(), POLLOUT)) {
      return GateConnection{*std::move(sender), std::move(receiver)};
    }
  }
  return fail(ErrorCode::Timeout, "gate",
              fmt::format("rail {} of node {} does not reach node {}", flow.egress.value,
                          flow.source.value, flow.destination.value));
}

void abort_connection(GateConnection& connection) {
  const linger at_once{1, 0};
  for (UniqueFd* end : {&connection.sender, &connection.receiver}) {
    (void)::setsockopt(end->get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    *end = UniqueFd();
  }
}

Result<double> time_lone_transfer(const GateConnection& connection, std::int64_t bytes,
                                  Deadline deadline) {
  std::vector<char> piece(65536);
  std::int64_t sent = 0;
  std::int64_t received = 0;
  const auto began = Clock::now();
  while (received < bytes) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    const short writable = sent < bytes ? POLLOUT : 0;
    std::array<pollfd, 2> watched{
        {{connection.sender.get(), writable, 0}, {connection.receiver.get(), POLLIN, 0}}};
    if (left <= 0 || ::poll(watched.data(), watched.size(), static_cast<int>(left)) == 0) {
      return fail(ErrorCode::Timeout, "gate",
                  fmt::format("a lone transfer stopped after {} of {} bytes", received, bytes));
    }
    if (sent < bytes) {
      const auto size = std::min<std::int64_t>(bytes - sent, std::ssize(piece));
      const auto count = ::send(connection.sender.get(), piece.data(),
                                static_cast<std::size_t>(size), MSG_NOSIGNAL);
      if (count > 0) sent += count;
    }
    const auto count = ::recv(connection.receiver.get(), piece.data(), piece.size(), 0);
    if (count > 0) received += count;
  }
  return std::chrono::duration<double>(Clock::now() - began).count();
}

}  // namespace railwave::testbed
