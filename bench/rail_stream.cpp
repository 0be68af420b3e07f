// How many frames and bytes one rail carries from one rank to another, by payload size.
// Usage: rail_stream [loopback|ucx] [device] [MiB for each line]
//   loopback: two threads; ucx: two processes (device: lo by default).
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/event_loop.hpp"
#include "base/units.hpp"
#include "transport/loopback_rail.hpp"
#include "transport/ucx_rail.hpp"

namespace railwave::transport {
namespace {

constexpr std::array<std::uint64_t, 5> kSizes{16, 32, 64, 128, 256};  // KiB
constexpr std::uint64_t kInFlight = 16;
constexpr std::chrono::seconds kPatience{60};

[[noreturn]] void give_up(const std::string& why) {
  fmt::print(stderr, "rail_stream: {}\n", why);
  std::_Exit(1);
}

struct Work {
  std::uint64_t bytes = 0;   ///< of each frame's payload
  std::uint64_t frames = 0;  ///< to be sent
};

Work work_of(std::uint64_t kib, std::uint64_t mib) {
  return {kib << 10, std::max<std::uint64_t>((mib << 10) / kib, 1)};
}

/// One end. The source keeps kInFlight frames in flight and counts sent(); the last frame of a
/// line is answered by the other end, so that a line ends when everything is there.
class End final : public RailSink {
 public:
  End(std::unique_ptr<Rail> rail, RankId peer)
      : rail_(std::move(rail)), peer_(peer), loop_(EventLoop::create().value()) {
    rail_->set_sink(this);
    if (!loop_.watch(rail_->wait_fd(), 0)) give_up("no event loop");
  }

  Rail& rail() { return *rail_; }

  void stream(const Work& work) {
    const std::vector<std::byte> payload(work.bytes, std::byte{0x5a});
    FrameHeader frame{.kind = FrameKind::Records, .bytes = work.bytes};
    std::uint64_t accepted = 0;
    sent_ = 0;
    answered_ = false;
    run([&] {
      while (accepted < work.frames && accepted - sent_ < kInFlight) {
        frame.first_record = static_cast<std::uint32_t>(accepted);
        frame.flags = accepted + 1 == work.frames ? 1 : 0;
        if (!rail_->send(peer_, frame, payload, accepted++)) give_up("send refused");
      }
      return answered_ && sent_ == work.frames;
    });
  }

  void receive(const Work& work) {
    // Counted over all lines: the source's next line may begin before this one returns.
    expected_ += work.frames;
    run([&] { return arrived_ == expected_; });
    const FrameHeader answer{.kind = FrameKind::Received};
    sent_ = 0;
    if (!rail_->send(peer_, answer, {}, 0)) give_up("answer refused");
    run([&] { return sent_ == 1; });
  }

  std::span<std::byte> place(const FrameHeader& frame) override {
    return std::span(place_).first(frame.bytes);
  }
  void arrived(const FrameHeader& frame) override {
    ++arrived_;
    answered_ = answered_ || frame.kind == FrameKind::Received;
  }
  void sent(std::uint64_t) override { ++sent_; }
  void lost(RankId, const Error& why) override { give_up(to_string(why)); }

 private:
  template <class Done>
  void run(Done done) {
    const Deadline deadline = Clock::now() + kPatience;
    for (;;) {
      if (const Status moved = rail_->progress(); !moved) give_up(to_string(moved.error()));
      if (done()) return;
      if (!rail_->arm()) continue;
      if (loop_.wait(deadline)->empty()) give_up("the peer is late");
    }
  }

  std::unique_ptr<Rail> rail_;
  RankId peer_;
  EventLoop loop_;
  std::vector<std::byte> place_ = std::vector<std::byte>(kSizes.back() << 10);
  std::uint64_t expected_ = 0;
  std::uint64_t arrived_ = 0;
  std::uint64_t sent_ = 0;
  bool answered_ = false;
};

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void print_header(std::string_view backend, std::uint64_t mib) {
  fmt::print("# rail_stream: {}, {} MiB a line, {} frames in flight\n", backend, mib, kInFlight);
  fmt::print("# {:>10} {:>8} {:>12} {:>12} {:>14}\n", "payload", "frames", "time", "frames/s",
             "MiB/s");
}

void source(End& end, std::uint64_t mib) {
  for (const std::uint64_t kib : kSizes) {
    const Work work = work_of(kib, mib);
    const Deadline start = Clock::now();
    end.stream(work);
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    fmt::print("{:>12} {:>8} {:>12} {:>12.0f} {:>14.1f}\n",
               format_size(static_cast<std::int64_t>(work.bytes)), work.frames,
               format_seconds(seconds), static_cast<double>(work.frames) / seconds,
               static_cast<double>(work.frames * work.bytes) / seconds / (1 << 20));
  }
  fmt::print("# source: {:.3f} s of CPU\n", cpu_seconds());
}

void target(End& end, std::uint64_t mib) {
  for (const std::uint64_t kib : kSizes) end.receive(work_of(kib, mib));
}

void connect(End& end, RankId peer, std::span<const std::byte> address) {
  const Status connected = end.rail().connect(peer, address);
  if (!connected) give_up(to_string(connected.error()));
}

void run_loopback(std::uint64_t mib) {
  LoopbackSwitch home;
  End first(home.plug(RankId(0), RailId(0)), RankId(1));
  End second(home.plug(RankId(1), RailId(0)), RankId(0));
  connect(first, RankId(1), second.rail().address());
  connect(second, RankId(0), first.rail().address());
  std::thread other([&] { target(second, mib); });
  source(first, mib);
  other.join();
}

std::vector<std::byte> swap_addresses(int socket, const std::vector<std::byte>& own) {
  std::array<std::byte, 4096> buffer{};
  if (::send(socket, own.data(), own.size(), MSG_NOSIGNAL) < 0) give_up("send failed");
  const auto length = ::recv(socket, buffer.data(), buffer.size(), 0);
  if (length <= 0) give_up("the other process is gone");
  return {buffer.begin(), buffer.begin() + length};
}

void run_ucx_rank(RankId self, const std::string& device, int socket, std::uint64_t mib) {
  auto rail = open_ucx_rail({.self = self, .rail = RailId(0), .device = device});
  if (!rail) give_up(to_string(rail.error()));
  const RankId peer(1 - self.value);
  End end(std::move(*rail), peer);
  connect(end, peer, swap_addresses(socket, end.rail().address()));
  self.value == 0 ? source(end, mib) : target(end, mib);
  swap_addresses(socket, {std::byte{0}});  // nobody goes before the other has all
}

void run_ucx(const std::string& device, std::uint64_t mib) {
  std::array<int, 2> sockets{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets.data()) != 0) give_up("socketpair failed");
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child < 0) give_up("fork failed");
  ::close(sockets[child == 0 ? 0 : 1]);
  run_ucx_rank(RankId(child == 0 ? 1 : 0), device, sockets[child == 0 ? 1 : 0], mib);
  if (child == 0) std::_Exit(0);
  int status = 0;
  ::waitpid(child, &status, 0);
}

}  // namespace
}  // namespace railwave::transport

int main(int argc, char** argv) {
  using namespace railwave::transport;
  const std::string backend = argc > 1 ? argv[1] : "loopback";
  const std::string device = argc > 2 ? argv[2] : "lo";
  const std::uint64_t mib = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 256;
  if ((backend != "loopback" && backend != "ucx") || mib == 0) {
    fmt::print(stderr, "usage: rail_stream [loopback|ucx] [device] [MiB for each line]\n");
    return 2;
  }
  print_header(backend == "ucx" ? "ucx over " + device : backend, mib);
  if (backend == "loopback") {
    run_loopback(mib);
  } else {
    run_ucx(device, mib);
  }
  return 0;
}
