#include "memfd_meeting.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fail.hpp"
#include "unix_packet.hpp"

namespace railwave::transport {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kSilence{5000};  // a stranger that says nothing is closed
constexpr milliseconds kFirstPause{1};
constexpr milliseconds kLongestPause{50};

/// A connection that has not said yet who it is.
struct Guest {
  UniqueFd socket;
  Deadline until;
};

class Meeting {
 public:
  Meeting(const MemfdFabricOptions& options, MetNode node, UniqueFd memfd, EventLoop loop)
      : options_(options),
        node_(std::move(node)),
        memfd_(std::move(memfd)),
        loop_(std::move(loop)),
        calls_(static_cast<std::size_t>(options.size)),
        next_try_(Clock::now()) {
    node_.peers.resize(static_cast<std::size_t>(options.size));
  }

  Result<MetNode> run() {
    while (!missing().empty()) {
      RAILWAVE_TRY(try_again());
      auto ready = loop_.wait(next_wake());
      if (!ready) return fail(ready.error());
      for (const std::uint64_t tag : *ready) RAILWAVE_TRY(handle(static_cast<int>(tag)));
      std::erase_if(guests_, [](const auto& g) { return g.second.until <= Clock::now(); });
      if (Clock::now() >= options_.deadline && !missing().empty()) return late();
    }
    return std::move(node_);
  }

 private:
  [[nodiscard]] bool met(int local) const {
    return local == options_.local || node_.peers[static_cast<std::size_t>(local)].socket;
  }
  [[nodiscard]] std::vector<int> missing() const {
    std::vector<int> locals;
    for (int local = 0; local < options_.size; ++local) {
      if (!met(local)) locals.push_back(local);
    }
    return locals;
  }
  tl::unexpected<Error> late() const {
    const auto locals = missing();
    return fail(ErrorCode::Timeout, RankId(locals.front()), "missing",
                fmt::format("local ranks [{}] of {} did not come to the node's meeting in time",
                            fmt::join(locals, ","), options_.size));
  }

  [[nodiscard]] bool has_something_to_try() const {
    if (!listener_ && options_.local + 1 < options_.size) return true;
    for (int local = 0; local < options_.local; ++local) {
      if (!met(local) && !calls_[static_cast<std::size_t>(local)]) return true;
    }
    return false;
  }
  [[nodiscard]] Deadline next_wake() const {
    Deadline wake = options_.deadline;
    if (has_something_to_try()) wake = std::min(wake, next_try_);
    for (const auto& [fd, guest] : guests_) wake = std::min(wake, guest.until);
    return wake;
  }

  /// Listens and calls the lower ranks, as far as that is still to be done.
  Status try_again() {
    if (Clock::now() < next_try_ || !has_something_to_try()) return {};
    RAILWAVE_TRY(listen());
    for (int local = 0; local < options_.local; ++local) {
      if (!met(local) && !calls_[static_cast<std::size_t>(local)]) RAILWAVE_TRY(call(local));
    }
    pause_ = std::min(pause_ * 2, kLongestPause);
    next_try_ = Clock::now() + pause_;
    return {};
  }

  /// The name may still belong to a process of an earlier group that is ending: tried again.
  Status listen() {
    if (listener_ || options_.local + 1 == options_.size) return {};
    auto socket = listen_at(meeting_name(options_, options_.local));
    if (!socket) return fail(socket.error());
    if (!*socket) return {};
    listener_ = std::move(**socket);
    return watch(listener_.get());
  }

  Status call(int local) {
    auto socket = connect_to(meeting_name(options_, local));
    if (!socket) return fail(socket.error());
    if (!*socket || !same_user((*socket)->get()) || !send_hello((*socket)->get())) return {};
    UniqueFd& slot = calls_[static_cast<std::size_t>(local)];
    slot = std::move(**socket);
    return watch(slot.get());
  }

  Status watch(int fd) { return loop_.watch(fd, static_cast<std::uint64_t>(fd)); }

  Status handle(int fd) {
    if (fd == listener_.get()) return accept();
    if (const auto guest = guests_.find(fd); guest != guests_.end()) return greet(guest->second);
    const auto call =
        std::find_if(calls_.begin(), calls_.end(), [fd](const auto& c) { return c.get() == fd; });
    if (call == calls_.end()) return {};
    return answered(*call, static_cast<int>(call - calls_.begin()));
  }

  Status accept() {
    while (true) {
      auto socket = accept_from(listener_.get());
      if (!socket) return fail(socket.error());
      if (!*socket) return {};
      if (!same_user((*socket)->get())) continue;
      const int fd = (*socket)->get();
      RAILWAVE_TRY(watch(fd));
      guests_[fd] = Guest{std::move(**socket), Clock::now() + kSilence};
    }
  }

  /// A guest has spoken. One that is not a higher rank of this meeting is shown the door.
  Status greet(Guest& guest) {
    Hello hello;
    auto packet = hear_hello(guest.socket.get(), hello);
    if (!packet) return {};
    UniqueFd socket = std::move(guest.socket);
    guests_.erase(socket.get());
    const bool welcome = belongs(*packet, hello, options_) && hello.local > options_.local &&
                         hello.local < options_.size && make_room(hello.local);
    if (!welcome) return {};
    MetPeer peer;
    RAILWAVE_TRY(take_segment(hello, *packet, peer));
    if (!send_hello(socket.get())) return {};
    return keep(hello.local, std::move(socket), std::move(peer));
  }

  /// A rank that came before keeps its place, unless that process has ended and a new one came.
  bool make_room(int local) {
    MetPeer& peer = node_.peers[static_cast<std::size_t>(local)];
    if (peer.socket && hung_up(peer.socket.get())) peer = MetPeer{};
    return !peer.socket;
  }

  /// The lower rank that we called has answered, or hung up: then it is called again.
  Status answered(UniqueFd& slot, int local) {
    Hello hello;
    auto packet = hear_hello(slot.get(), hello);
    if (!packet) return {};
    UniqueFd socket = std::move(slot);
    slot = UniqueFd();
    if (!belongs(*packet, hello, options_) || hello.local != local) return {};
    MetPeer peer;
    RAILWAVE_TRY(take_segment(hello, *packet, peer));
    return keep(local, std::move(socket), std::move(peer));
  }

  [[nodiscard]] bool send_hello(int fd) const {
    return say_hello(fd, options_, {memfd_.get(), node_.event.get()});
  }

  Status keep(int local, UniqueFd socket, MetPeer peer) {
    RAILWAVE_TRY(loop_.unwatch(socket.get()));
    peer.socket = std::move(socket);
    node_.peers[static_cast<std::size_t>(local)] = std::move(peer);
    return {};
  }

  const MemfdFabricOptions& options_;
  MetNode node_;
  UniqueFd memfd_;
  EventLoop loop_;
  UniqueFd listener_;
  std::vector<UniqueFd> calls_;  // [local] connected, not answered yet
  std::map<int, Guest> guests_;  // by descriptor
  Deadline next_try_;
  milliseconds pause_ = kFirstPause;
};

}  // namespace

Result<MetNode> meet_node(const MemfdFabricOptions& options) {
  RAILWAVE_TRY(check_options(options));
  auto segment = create_sealed_segment(options.segment_bytes);
  if (!segment) return fail(segment.error());
  auto loop = EventLoop::create();
  if (!loop) return fail(loop.error());
  MetNode node;
  node.own = std::move(segment->mapping);
  node.event = UniqueFd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!node.event) {
    return fail(ErrorCode::ResourceExhausted, "eventfd",
                fmt::format("eventfd failed: {}", std::strerror(errno)));
  }
  return Meeting(options, std::move(node), std::move(segment->fd), std::move(*loop)).run();
}

}  // namespace railwave::transport
