#include "transport/memfd_fabric.hpp"

#include <cerrno>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "memfd_meeting.hpp"

namespace railwave::transport {
namespace {

constexpr char kGoodbye = 'g';

class MemfdFabric final : public NodeFabric {
 public:
  MemfdFabric(const MemfdFabricOptions& options, MetNode node, EventLoop loop)
      : local_(options.local),
        own_bytes_(options.segment_bytes),
        node_(std::move(node)),
        loop_(std::move(loop)) {}

  /// Says goodbye, so that the peers can tell an end in peace from a death.
  ~MemfdFabric() override {
    for (const MetPeer& peer : node_.peers) {
      if (peer.socket) ::send(peer.socket.get(), &kGoodbye, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    }
  }

  MemfdFabric(const MemfdFabric&) = delete;
  MemfdFabric& operator=(const MemfdFabric&) = delete;

  Status watch_all() {
    RAILWAVE_TRY(loop_.watch(node_.event.get(), own_tag()));
    for (std::size_t i = 0; i < node_.peers.size(); ++i) {
      if (node_.peers[i].socket) RAILWAVE_TRY(loop_.watch(node_.peers[i].socket.get(), i));
    }
    return {};
  }

  [[nodiscard]] int size() const override { return static_cast<int>(node_.peers.size()); }
  [[nodiscard]] int local() const override { return local_; }
  [[nodiscard]] std::span<std::byte> own() override { return node_.own.first(own_bytes_); }
  [[nodiscard]] std::span<const std::byte> segment(int peer) const override {
    if (peer == local_) return node_.own.first(own_bytes_);
    const MetPeer& met = peer_at(peer);
    return met.mapping.first(met.bytes);
  }
  [[nodiscard]] int wait_fd() const override { return loop_.fd(); }

  void signal(int peer) override {
    // The kernel's lock on the counter orders it after the caller's writes. A full counter is
    // readable already, so that a refused write loses nothing.
    const std::uint64_t one = 1;
    const UniqueFd& event = peer == local_ ? node_.event : peer_at(peer).event;
    [[maybe_unused]] const auto written = ::write(event.get(), &one, sizeof(one));
  }

  Status poll() override {
    auto ready = loop_.wait(Deadline{});
    if (!ready) return fail(ready.error());
    for (const std::uint64_t tag : *ready) {
      if (tag == own_tag()) {
        std::uint64_t count = 0;
        [[maybe_unused]] const auto got = ::read(node_.event.get(), &count, sizeof(count));
      } else {
        listen_to(static_cast<std::size_t>(tag));
      }
    }
    if (failed_) return fail(*failed_);
    return {};
  }

 private:
  [[nodiscard]] std::uint64_t own_tag() const { return static_cast<std::uint64_t>(local_); }
  [[nodiscard]] const MetPeer& peer_at(int peer) const {
    RAILWAVE_CHECK(peer >= 0 && peer < size(), "local rank %d of %d", peer, size());
    return node_.peers[static_cast<std::size_t>(peer)];
  }

  /// A peer's socket is readable only at its end. It leaves the set either way: a closed socket
  /// stays readable for ever, and whoever goes on sleeping on wait_fd() would spin.
  void listen_to(std::size_t index) {
    const int socket = node_.peers[index].socket.get();
    char word = 0;
    auto got = ::recv(socket, &word, 1, MSG_DONTWAIT);
    // Our own goodbye, unread over there, resets the connection; theirs may lie behind that error.
    if (got < 0 && errno == ECONNRESET) got = ::recv(socket, &word, 1, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    static_cast<void>(loop_.unwatch(socket));
    if (got == 1 && word == kGoodbye) return;
    const auto local = static_cast<std::int32_t>(index);
    if (failed_ && failed_->rank <= local) return;
    failed_ = Error{ErrorCode::PeerFailed, local, "node",
                    fmt::format("the process of local rank {} has ended", local)};
  }

  int local_;
  std::int64_t own_bytes_;
  MetNode node_;
  EventLoop loop_;
  std::optional<Error> failed_;
};

}  // namespace

Result<std::unique_ptr<NodeFabric>> meet_over_memfd(const MemfdFabricOptions& options) {
  auto node = meet_node(options);
  if (!node) return fail(node.error());
  auto loop = EventLoop::create();
  if (!loop) return fail(loop.error());
  auto fabric = std::make_unique<MemfdFabric>(options, std::move(*node), std::move(*loop));
  RAILWAVE_TRY(fabric->watch_all());
  return fabric;
}

}  // namespace railwave::transport
