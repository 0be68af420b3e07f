#include "transport/thread_fabric.hpp"

#include <atomic>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/checked.hpp"
#include "base/event_loop.hpp"
#include "base/fail.hpp"
#include "segment.hpp"

namespace railwave::transport {
namespace {

enum class End : std::uint8_t { None, Orderly, Failed };

/// One rank's part of the memory that all share.
struct Seat {
  Mapping mapping;
  std::int64_t bytes = 0;
  UniqueFd event;
  std::atomic<std::uint64_t> rings{0};  // what a signal synchronises on, besides the eventfd
  std::atomic<End> end{End::None};
};

struct Seats {
  explicit Seats(std::size_t size) : all(size) {}
  std::vector<Seat> all;

  void ring(std::size_t index) {
    all[index].rings.fetch_add(1, std::memory_order_release);
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(all[index].event.get(), &one, sizeof(one));
  }
};

class ThreadFabric final : public NodeFabric {
 public:
  ThreadFabric(std::shared_ptr<Seats> seats, std::size_t local)
      : seats_(std::move(seats)), local_(local) {}
  ~ThreadFabric() override { leave(End::Orderly); }
  ThreadFabric(const ThreadFabric&) = delete;
  ThreadFabric& operator=(const ThreadFabric&) = delete;

  void leave(End how) {
    End none = End::None;
    if (!own_seat().end.compare_exchange_strong(none, how) || how == End::Orderly) return;
    for (std::size_t i = 0; i < seats_->all.size(); ++i) {
      if (i != local_) seats_->ring(i);
    }
  }

  [[nodiscard]] int size() const override { return static_cast<int>(seats_->all.size()); }
  [[nodiscard]] int local() const override { return static_cast<int>(local_); }
  [[nodiscard]] std::span<std::byte> own() override {
    return own_seat().mapping.first(own_seat().bytes);
  }
  [[nodiscard]] std::span<const std::byte> segment(int peer) const override {
    const Seat& seat = seats_->all[index_of(peer)];
    return seat.mapping.first(seat.bytes);
  }
  void signal(int peer) override { seats_->ring(index_of(peer)); }
  [[nodiscard]] int wait_fd() const override { return own_seat().event.get(); }

  Status poll() override {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto got = ::read(wait_fd(), &count, sizeof(count));
    static_cast<void>(own_seat().rings.load(std::memory_order_acquire));
    for (std::size_t i = 0; i < seats_->all.size(); ++i) {
      if (i == local_ || seats_->all[i].end.load() != End::Failed) continue;
      return fail(ErrorCode::PeerFailed, RankId(i), "node",
                  fmt::format("local rank {} has ended", i));
    }
    return {};
  }

 private:
  [[nodiscard]] Seat& own_seat() const { return seats_->all[local_]; }
  [[nodiscard]] std::size_t index_of(int peer) const {
    RAILWAVE_CHECK(peer >= 0 && peer < size(), "local rank %d of %d", peer, size());
    return static_cast<std::size_t>(peer);
  }

  std::shared_ptr<Seats> seats_;
  std::size_t local_;
};

Status furnish(Seat& seat, std::int64_t bytes) {
  auto mapping = map_private_segment(bytes);
  if (!mapping) return fail(mapping.error());
  seat.mapping = std::move(*mapping);
  seat.bytes = bytes;
  seat.event = UniqueFd(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (seat.event) return {};
  return fail(ErrorCode::ResourceExhausted, "eventfd",
              fmt::format("eventfd failed: {}", std::strerror(errno)));
}

}  // namespace

Result<std::vector<std::unique_ptr<NodeFabric>>> make_thread_fabrics(
    const std::vector<std::int64_t>& segment_bytes) {
  if (segment_bytes.empty()) {
    return fail(ErrorCode::InvalidArgument, "segment_bytes", "a node has at least one rank");
  }
  auto seats = std::make_shared<Seats>(segment_bytes.size());
  for (std::size_t i = 0; i < segment_bytes.size(); ++i) {
    RAILWAVE_TRY(furnish(seats->all[i], segment_bytes[i]));
  }
  std::vector<std::unique_ptr<NodeFabric>> fabrics;
  for (std::size_t i = 0; i < segment_bytes.size(); ++i) {
    fabrics.push_back(std::make_unique<ThreadFabric>(seats, i));
  }
  return fabrics;
}

void end_abruptly(std::unique_ptr<NodeFabric> fabric) {
  auto* thread_fabric = dynamic_cast<ThreadFabric*>(fabric.get());
  RAILWAVE_CHECK(thread_fabric != nullptr, "not a fabric of make_thread_fabrics()");
  thread_fabric->leave(End::Failed);
}

}  // namespace railwave::transport
