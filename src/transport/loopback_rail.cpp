#include "transport/loopback_rail.hpp"

#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "base/fail.hpp"
#include "loopback/port.hpp"
#include "send_check.hpp"

namespace railwave::transport {
namespace {

using loopback::Arrival;
using loopback::Frame;
using loopback::Gone;
using loopback::Port;
using loopback::Sent;

/// The rails of one switch.
struct Ports {
  std::mutex mutex;
  std::uint64_t plugged = 0;
  std::map<std::uint64_t, std::weak_ptr<Port>> open;  ///< by plug number, never reused
};

/// What an address holds.
struct Plug {
  std::uint64_t number = 0;
  std::uint64_t home = 0;  ///< names the switch: where its state lies in this process
  std::int32_t rank = 0;
  std::int32_t rail = 0;
};

class LoopbackRail final : public Rail {
 public:
  LoopbackRail(std::shared_ptr<Ports> ports, std::shared_ptr<Port> port, Plug plug)
      : ports_(std::move(ports)), port_(std::move(port)), plug_(plug) {}

  ~LoopbackRail() override {
    port_->close();
    const std::lock_guard lock(ports_->mutex);
    ports_->open.erase(plug_.number);
  }
  LoopbackRail(const LoopbackRail&) = delete;
  LoopbackRail& operator=(const LoopbackRail&) = delete;

  [[nodiscard]] std::vector<std::byte> address() const override {
    std::vector<std::byte> out(sizeof plug_);
    std::memcpy(out.data(), &plug_, sizeof plug_);
    return out;
  }

  void set_sink(RailSink* sink) override { sink_ = sink; }

  Status connect(RankId peer, std::span<const std::byte> address) override {
    Plug there;
    if (address.size() != sizeof there) return foreign(peer);
    std::memcpy(&there, address.data(), sizeof there);
    if (there.home != plug_.home || there.rank != peer.value) return foreign(peer);
    if (peers_.contains(peer)) {
      return fail(ErrorCode::InvalidArgument, peer, "peer",
                  fmt::format("rank {} is connected already", peer.value));
    }
    const auto port = find(there.number);
    if (!port || !port->watch(port_)) {
      return fail(ErrorCode::LinkDown, peer, "address",
                  fmt::format("rank {} has left the switch", peer.value));
    }
    peers_.emplace(peer, Peer{port, false});
    return {};
  }

  Status send(RankId peer, const FrameHeader& frame, std::span<const std::byte> payload,
              std::uint64_t token) override {
    const auto found = peers_.find(peer);
    RAILWAVE_TRY(check_send(found != peers_.end(), peer, frame, payload));
    Frame copy{frame, {payload.begin(), payload.end()}};
    if (found->second.lost || !found->second.port->push(std::move(copy))) {
      return fail(ErrorCode::PeerFailed, peer, "peer",
                  fmt::format("rank {} has left the switch", peer.value));
    }
    port_->push(Sent{token});
    return {};
  }

  Status progress() override {
    for (auto arrivals = port_->take(); !arrivals.empty(); arrivals = port_->take()) {
      for (Arrival& arrival : arrivals) {
        std::visit([this](auto& what) { deliver(what); }, arrival);
      }
    }
    return {};
  }

  [[nodiscard]] int wait_fd() const override { return port_->fd(); }
  bool arm() override { return port_->empty(); }
  [[nodiscard]] std::uint64_t refused() const override { return refused_; }

 private:
  struct Peer {
    std::shared_ptr<Port> port;
    bool lost = false;
  };

  static Status foreign(RankId peer) {
    return fail(
        ErrorCode::InvalidArgument, peer, "address",
        fmt::format("these bytes are not the address of rank {} on this switch", peer.value));
  }

  std::shared_ptr<Port> find(std::uint64_t number) {
    const std::lock_guard lock(ports_->mutex);
    const auto found = ports_->open.find(number);
    return found == ports_->open.end() ? nullptr : found->second.lock();
  }

  void deliver(const Frame& frame) {
    if (!frame.payload.empty()) {
      const auto place = sink_->place(frame.header);
      if (place.size() != frame.payload.size()) {
        ++refused_;
        return;
      }
      std::memcpy(place.data(), frame.payload.data(), place.size());
    }
    sink_->arrived(frame.header);
  }

  void deliver(const Sent& sent) { sink_->sent(sent.token); }

  void deliver(const Gone& gone) {
    const auto found = peers_.find(gone.peer);
    if (found == peers_.end() || std::exchange(found->second.lost, true)) return;
    sink_->lost(gone.peer, Error{ErrorCode::PeerFailed, gone.peer.value, "peer",
                                 fmt::format("rank {} has left the switch", gone.peer.value)});
  }

  std::shared_ptr<Ports> ports_;
  std::shared_ptr<Port> port_;
  Plug plug_;
  RailSink* sink_ = nullptr;
  std::map<RankId, Peer> peers_;
  std::uint64_t refused_ = 0;
};

}  // namespace

struct LoopbackSwitch::State : Ports {};

LoopbackSwitch::LoopbackSwitch() : state_(std::make_shared<State>()) {}
LoopbackSwitch::~LoopbackSwitch() = default;

std::unique_ptr<Rail> LoopbackSwitch::plug(RankId rank, RailId rail) {
  auto port = std::make_shared<Port>(rank);
  Plug plug;
  {
    const std::lock_guard lock(state_->mutex);
    plug = {++state_->plugged, reinterpret_cast<std::uintptr_t>(state_.get()), rank.value,
            rail.value};
    state_->open.emplace(plug.number, port);
  }
  return std::make_unique<LoopbackRail>(state_, std::move(port), plug);
}

}  // namespace railwave::transport
