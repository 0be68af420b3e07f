#include "transport/fault_rail.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include "base/checked.hpp"
#include "base/event_loop.hpp"
#include "base/fail.hpp"
#include "send_check.hpp"

namespace railwave::transport {
namespace {

/// Readable from the set time on.
class Alarm {
 public:
  Alarm() : fd_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
    RAILWAVE_CHECK(fd_, "no descriptor left for a timer");
  }
  [[nodiscard]] int fd() const { return fd_.get(); }

  void set(std::optional<Deadline> when) {
    if (when == when_) return;
    when_ = when;
    itimerspec spec{};
    if (when) {
      const std::chrono::nanoseconds since_boot = when->time_since_epoch();
      spec.it_value = {since_boot.count() / 1'000'000'000, since_boot.count() % 1'000'000'000};
    }
    RAILWAVE_CHECK(::timerfd_settime(fd_.get(), TFD_TIMER_ABSTIME, &spec, nullptr) == 0);
  }

 private:
  UniqueFd fd_;
  std::optional<Deadline> when_;
};

/// Two descriptors as one.
UniqueFd either(int a, int b) {
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  RAILWAVE_CHECK(epoll, "no descriptor left for an epoll set");
  for (const int fd : {a, b}) {
    epoll_event event{};
    event.events = EPOLLIN;
    RAILWAVE_CHECK(::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event) == 0);
  }
  return epoll;
}

class FaultRail final : public Rail, private RailSink {
 public:
  FaultRail(std::unique_ptr<Rail> rail, const FaultOptions& options)
      : options_(options),
        random_(options.seed),
        rail_(std::move(rail)),
        wait_(either(alarm_.fd(), rail_->wait_fd())) {}

  [[nodiscard]] std::vector<std::byte> address() const override { return rail_->address(); }
  void set_sink(RailSink* sink) override {
    sink_ = sink;
    rail_->set_sink(this);
  }
  Status connect(RankId peer, std::span<const std::byte> address) override {
    Status connected = rail_->connect(peer, address);
    if (connected) peers_.try_emplace(peer);
    return connected;
  }
  Status send(RankId peer, const FrameHeader& frame, std::span<const std::byte> payload,
              std::uint64_t token) override;
  Status progress() override;
  [[nodiscard]] int wait_fd() const override { return wait_.get(); }
  bool arm() override {
    const bool due = !held_.empty() && held_.begin()->first <= Clock::now();
    return !due && rail_->arm();
  }
  [[nodiscard]] std::uint64_t refused() const override { return rail_->refused(); }

 private:
  struct Peer {
    Deadline last_leaves{};  ///< of the frames held for it
    bool lost = false;
  };
  /// What the owner sent, whether once or twice.
  struct Send {
    std::uint64_t token = 0;
    int copies = 0;  ///< not yet reported by the inner rail
  };
  struct Held {
    RankId peer;
    FrameHeader frame;
    std::span<const std::byte> payload;
    std::uint64_t send = 0;
  };

  Deadline leaves(Peer& peer);
  void release_due();
  void release(const Held& held);
  void copy_done(std::uint64_t send);
  void drop_held_for(RankId peer);
  void set_alarm();

  std::span<std::byte> place(const FrameHeader& frame) override { return sink_->place(frame); }
  void arrived(const FrameHeader& frame) override { sink_->arrived(frame); }
  void sent(std::uint64_t token) override { copy_done(token); }
  void lost(RankId peer, const Error& why) override;

  FaultOptions options_;
  std::mt19937_64 random_;
  std::unique_ptr<Rail> rail_;
  Alarm alarm_;
  UniqueFd wait_;
  RailSink* sink_ = nullptr;
  std::map<RankId, Peer> peers_;
  std::multimap<Deadline, Held> held_;  ///< by the time at which it leaves, equal ones as sent
  std::map<std::uint64_t, Send> sends_;
  std::uint64_t next_send_ = 0;
};

Status FaultRail::send(RankId peer, const FrameHeader& frame, std::span<const std::byte> payload,
                       std::uint64_t token) {
  const auto found = peers_.find(peer);
  RAILWAVE_TRY(check_send(found != peers_.end(), peer, frame, payload));
  if (found->second.lost) {
    return fail(ErrorCode::PeerFailed, peer, "peer", fmt::format("rank {} is lost", peer.value));
  }
  const bool twice = frame.kind == FrameKind::Records &&
                     std::uniform_real_distribution<>(0, 1)(random_) < options_.duplicate;
  const std::uint64_t send = next_send_++;
  sends_[send] = {token, twice ? 2 : 1};
  for (int copy = 0; copy < sends_[send].copies; ++copy) {
    held_.emplace(leaves(found->second), Held{peer, frame, payload, send});
  }
  set_alarm();
  return {};
}

Deadline FaultRail::leaves(Peer& peer) {
  std::uniform_int_distribution<std::int64_t> delay(0, options_.max_delay.count());
  const Deadline when = Clock::now() + std::chrono::microseconds(delay(random_));
  if (options_.reorder) return when;
  return peer.last_leaves = std::max(peer.last_leaves, when);
}

Status FaultRail::progress() {
  release_due();
  Status moved = rail_->progress();
  set_alarm();
  return moved;
}

void FaultRail::release_due() {
  const Deadline now = Clock::now();
  while (!held_.empty() && held_.begin()->first <= now) {
    release(held_.extract(held_.begin()).mapped());
  }
}

void FaultRail::release(const Held& held) {
  const Status accepted = rail_->send(held.peer, held.frame, held.payload, held.send);
  // The peer was lost while the frame waited: it is dropped, as it would be on its way.
  if (!accepted) copy_done(held.send);
}

void FaultRail::copy_done(std::uint64_t send) {
  const auto found = sends_.find(send);
  if (--found->second.copies > 0) return;
  const std::uint64_t token = found->second.token;
  sends_.erase(found);
  sink_->sent(token);
}

void FaultRail::lost(RankId peer, const Error& why) {
  peers_[peer].lost = true;
  sink_->lost(peer, why);
  drop_held_for(peer);
}

void FaultRail::drop_held_for(RankId peer) {
  std::vector<std::uint64_t> dropped;
  for (auto at = held_.begin(); at != held_.end();) {
    if (at->second.peer == peer) dropped.push_back(at->second.send);
    at = at->second.peer == peer ? held_.erase(at) : std::next(at);
  }
  for (const std::uint64_t send : dropped) copy_done(send);
}

void FaultRail::set_alarm() {
  alarm_.set(held_.empty() ? std::nullopt : std::optional(held_.begin()->first));
}

}  // namespace

std::unique_ptr<Rail> with_faults(std::unique_ptr<Rail> rail, const FaultOptions& options) {
  return std::make_unique<FaultRail>(std::move(rail), options);
}

}  // namespace railwave::transport
