#include "network_connections.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/fail.hpp"
#include "workload/integer_rng.hpp"

namespace railwave::cli {
namespace {

constexpr std::chrono::seconds kConnect{10};
constexpr std::size_t kMostAtOnce = std::size_t{1} << 20;

Error system_error(const char* call) {
  return Error{ErrorCode::ResourceExhausted, -1, call, std::strerror(errno)};
}

/// The device's IPv4 address, port 0.
Result<sockaddr_in> address_of(const std::string& device) {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) return fail(system_error("getifaddrs"));
  std::optional<sockaddr_in> found;
  for (const ifaddrs* one = all; one != nullptr && !found; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
    if (device == one->ifa_name) {
      std::memcpy(&found.emplace(), one->ifa_addr, sizeof(sockaddr_in));
      found->sin_port = 0;
    }
  }
  ::freeifaddrs(all);
  if (found) return *found;
  return fail(ErrorCode::InvalidArgument, "RAILWAVE_RAILS",
              fmt::format("device '{}' has no IPv4 address", device));
}

Result<UniqueFd> bound_socket(const std::string& device) {
  const auto address = address_of(device);
  if (!address) return fail(address.error());
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket ||
      ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) {
    return fail(system_error("bind"));
  }
  return socket;
}

/// Waits until the socket can be read or written.
Status await(int socket, Interest interest, Deadline deadline) {
  auto loop = EventLoop::create();
  if (!loop) return fail(std::move(loop).error());
  RAILWAVE_TRY(loop->watch(socket, 0, interest));
  const auto ready = loop->wait(deadline);
  if (!ready) return fail(ready.error());
  if (!ready->empty()) return {};
  return fail(ErrorCode::Timeout, "connect", "no connection along a rail in time");
}

}  // namespace

RankId NetworkConnections::sender_of(const NetworkFlow& flow) const {
  return setup_.topology->drivers(flow.nodes.source, flow.egress).front();
}

RankId NetworkConnections::receiver_of(const NetworkFlow& flow) const {
  return setup_.topology->drivers(flow.nodes.destination, flow.ingress).front();
}

/// Addresses [R] of this rank's listeners, zero where it has none.
Status NetworkConnections::listen(std::vector<std::byte>& addresses) {
  const auto rails = static_cast<std::size_t>(setup_.topology->rails());
  std::vector<sockaddr_in> own(rails);
  for (const NetworkFlow& flow : *setup_.flows) {
    if (receiver_of(flow) != setup_.self || listeners_.contains(flow.ingress)) continue;
    auto socket = bound_socket(setup_.devices[flow.ingress.index()]);
    if (!socket) return fail(std::move(socket).error());
    sockaddr_in& address = own[flow.ingress.index()];
    socklen_t size = sizeof address;
    if (::listen(socket->get(), 256) != 0 ||
        ::getsockname(socket->get(), reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      return fail(system_error("listen"));
    }
    listeners_.emplace(flow.ingress, std::move(*socket));
  }
  const auto bytes = std::as_bytes(std::span(own));
  addresses.assign(bytes.begin(), bytes.end());
  return {};
}

/// Connects the flows that this rank sends, and says on each which one it is.
Status NetworkConnections::call(const std::vector<std::vector<std::byte>>& addresses) {
  for (std::size_t f = 0; f < setup_.flows->size(); ++f) {
    const NetworkFlow& flow = (*setup_.flows)[f];
    if (sender_of(flow) != setup_.self) continue;
    sockaddr_in there{};
    const auto& theirs = addresses[receiver_of(flow).index()];
    const std::size_t at = flow.ingress.index() * sizeof there;
    if (theirs.size() < at + sizeof there) {
      return fail(ErrorCode::ProtocolViolation, receiver_of(flow), "addresses", "are cut short");
    }
    std::memcpy(&there, theirs.data() + at, sizeof there);
    auto socket = bound_socket(setup_.devices[flow.egress.index()]);
    if (!socket) return fail(std::move(socket).error());
    if (::connect(socket->get(), reinterpret_cast<const sockaddr*>(&there), sizeof there) != 0 &&
        errno != EINPROGRESS) {
      return fail(system_error("connect"));
    }
    RAILWAVE_TRY(await(socket->get(), Interest::Output, Clock::now() + kConnect));
    const std::uint64_t hello = f;
    if (::send(socket->get(), &hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello) {
      return fail(system_error("connect"));
    }
    ends_.push_back({f, true, std::move(*socket)});
  }
  return {};
}

Status NetworkConnections::accept_all() {
  for (const NetworkFlow& expected : *setup_.flows) {
    if (receiver_of(expected) != setup_.self) continue;
    const int listener = listeners_.at(expected.ingress).get();
    RAILWAVE_TRY(await(listener, Interest::Input, Clock::now() + kConnect));
    UniqueFd socket(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) return fail(system_error("accept"));
    RAILWAVE_TRY(await(socket.get(), Interest::Input, Clock::now() + kConnect));
    std::uint64_t hello = 0;
    if (::recv(socket.get(), &hello, sizeof hello, 0) != sizeof hello ||
        hello >= setup_.flows->size()) {
      return fail(ErrorCode::ProtocolViolation, "hello", "a stranger called a listener of bench");
    }
    ends_.push_back({static_cast<std::size_t>(hello), false, std::move(socket)});
  }
  return {};
}

Result<NetworkConnections> NetworkConnections::connect(Setup setup) {
  NetworkConnections out(std::move(setup));
  std::vector<std::byte> own;
  RAILWAVE_TRY(out.listen(own));
  const auto addresses = out.setup_.gather(own);
  if (!addresses) return fail(addresses.error());
  RAILWAVE_TRY(out.call(*addresses));
  RAILWAVE_TRY(out.accept_all());
  return out;
}

/// A pattern of its own for each flow, so that bytes of another are wrong.
void NetworkConnections::fill(std::size_t flow, std::span<std::byte> out) const {
  workload::IntegerRng rng(workload::mix64(setup_.seed) + flow);
  for (std::size_t at = 0; at < out.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = rng.next();
    std::memcpy(out.data() + at, &word, std::min(sizeof word, out.size() - at));
  }
}

void NetworkConnections::prepare(std::int64_t bytes) {
  for (End& end : ends_) {
    end.bytes.assign(static_cast<std::size_t>(bytes), std::byte{0});
    if (end.sends) fill(end.flow, end.bytes);
  }
}

/// Sends or receives what can be without waiting; true when nothing is left.
Result<bool> NetworkConnections::step(End& end) {
  while (end.done < end.bytes.size()) {
    const std::size_t size = std::min(kMostAtOnce, end.bytes.size() - end.done);
    std::byte* at = end.bytes.data() + end.done;
    const ssize_t moved = end.sends ? ::send(end.socket.get(), at, size, MSG_NOSIGNAL)
                                    : ::recv(end.socket.get(), at, size, 0);
    if (moved < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (moved <= 0) {
      return fail(ErrorCode::PeerFailed, end.sends ? "send" : "recv",
                  moved == 0 ? "the other end is gone" : std::strerror(errno));
    }
    end.done += static_cast<std::size_t>(moved);
  }
  return true;
}

Error NetworkConnections::late(const End& end) const {
  const NetworkFlow& flow = (*setup_.flows)[end.flow];
  return Error{ErrorCode::Timeout, -1, fmt::format("rail {}", flow.egress.value),
               fmt::format("node {} to node {}: {} of {} bytes {} in time", flow.nodes.source.value,
                           flow.nodes.destination.value, end.done, end.bytes.size(),
                           end.sends ? "sent" : "received")};
}

Status NetworkConnections::move(const std::function<bool(const NetworkFlow&)>& selected,
                                Deadline deadline,
                                std::map<std::size_t, Clock::time_point>& ended) {
  auto loop = EventLoop::create();
  if (!loop) return fail(std::move(loop).error());
  std::size_t open = 0;
  for (std::size_t e = 0; e < ends_.size(); ++e) {
    if (!selected((*setup_.flows)[ends_[e].flow])) continue;
    ends_[e].done = 0;
    const Interest interest = ends_[e].sends ? Interest::Output : Interest::Input;
    RAILWAVE_TRY(loop->watch(ends_[e].socket.get(), e, interest));
    ++open;
  }
  while (open > 0) {
    const auto ready = loop->wait(deadline);
    if (!ready) return fail(ready.error());
    if (ready->empty()) {
      const auto behind = std::ranges::find_if(ends_, [&](const End& end) {
        return selected((*setup_.flows)[end.flow]) && end.done < end.bytes.size();
      });
      return fail(late(behind == ends_.end() ? ends_.front() : *behind));
    }
    for (const std::uint64_t tag : *ready) {
      End& end = ends_[static_cast<std::size_t>(tag)];
      const auto finished = step(end);
      if (!finished) return fail(finished.error());
      if (!*finished) continue;
      if (!end.sends) ended[end.flow] = Clock::now();
      RAILWAVE_TRY(loop->unwatch(end.socket.get()));
      --open;
    }
  }
  return {};
}

bool NetworkConnections::check(std::size_t flow) {
  const auto end = std::ranges::find_if(
      ends_, [flow](const End& one) { return one.flow == flow && !one.sends; });
  if (end == ends_.end()) return false;
  std::vector<std::byte> expected(end->bytes.size());
  fill(flow, expected);
  const bool same = expected == end->bytes;
  std::ranges::fill(end->bytes, std::byte{0});
  return same;
}

}  // namespace railwave::cli
