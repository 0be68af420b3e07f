#include "tcp_guest.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/fail.hpp"
#include "bootstrap_channel.hpp"
#include "tcp_socket.hpp"

namespace railwave::comm {
namespace {

using std::chrono::milliseconds;

/// Rank 0 knows who is late, and says so when its own deadline has passed: that is waited for.
constexpr milliseconds kVerdict{1000};
constexpr milliseconds kFirstPause{5};
constexpr milliseconds kLongestPause{250};
constexpr std::uint64_t kLongestWord = 1 << 16;

tl::unexpected<Error> broken() {
  return fail(ErrorCode::PeerFailed, RankId(0), "bootstrap", "the connection to rank 0 broke");
}
tl::unexpected<Error> violated(const std::string& who) {
  return fail(ErrorCode::ProtocolViolation, RankId(0), "bootstrap",
              who + " does not speak as rank 0 of a RailWave job does");
}
tl::unexpected<Error> late(const std::string& what) {
  return fail(ErrorCode::Timeout, RankId(0), "missing", "rank 0 " + what + " in time");
}
tl::unexpected<Error> told(const Message& message) {
  auto error = decode_error(message.body);
  if (!error) return violated("who listens");
  return fail(std::move(*error));
}

class TcpGuest final : public AllGather {
 public:
  TcpGuest(const LaunchIdentity& identity, Channel channel, EventLoop loop)
      : ranks_(static_cast<std::size_t>(identity.world_size)),
        channel_(std::move(channel)),
        loop_(std::move(loop)) {
    // Everybody's parts: their sum has no other bound than what rank 0 could build.
    channel_.set_longest_body((kLongestPart + sizeof(std::uint64_t)) * ranks_);
  }

  Result<std::vector<Bytes>> all_gather(std::span<const std::byte> mine,
                                        Deadline deadline) override {
    if (failed_) return fail(*failed_);
    if (mine.size() > kLongestPart) {
      return fail(ErrorCode::InvalidArgument, "mine",
                  fmt::format("{} bytes are more than 1 GiB", mine.size()));
    }
    ++round_;
    auto parts = gather(mine, deadline);
    if (!parts) failed_ = parts.error();
    return parts;
  }

 private:
  Result<std::vector<Bytes>> gather(std::span<const std::byte> mine, Deadline deadline) {
    channel_.queue(encode(MessageKind::Part, round_, mine));
    while (true) {
      // When sending fails, what rank 0 said before may still lie here to be read.
      const bool sending = channel_.has_unsent() && channel_.flush() && channel_.has_unsent();
      Message message;
      const auto got = channel_.receive(message);
      if (got == Channel::Got::Message) return understand(message);
      if (got == Channel::Got::End) return broken();
      if (got == Channel::Got::Malformed) return violated("who listens");
      if (Clock::now() >= deadline + kVerdict) return late("has not sent the others' parts");
      RAILWAVE_TRY(loop_.rewatch(channel_.fd(), 0, sending ? Interest::Both : Interest::Input));
      RAILWAVE_TRY(loop_.wait(deadline + kVerdict));
    }
  }

  Result<std::vector<Bytes>> understand(const Message& message) const {
    if (message.header.kind == MessageKind::Failure) return told(message);
    if (message.header.kind != MessageKind::Gathered || message.header.round != round_) {
      return violated("who listens");
    }
    auto parts = decode_parts(message.body, ranks_);
    if (!parts) return violated("who listens");
    return std::move(*parts);
  }

  std::size_t ranks_;
  Channel channel_;
  EventLoop loop_;
  std::uint32_t round_ = 0;
  std::optional<Error> failed_;
};

/// Gets from nothing to a welcomed channel.
class Visit {
 public:
  Visit(const TcpBootstrapOptions& options, std::vector<SocketAddress> addresses, EventLoop loop)
      : options_(options),
        addresses_(std::move(addresses)),
        loop_(std::move(loop)),
        next_try_(Clock::now()) {}

  Result<std::unique_ptr<AllGather>> run() {
    while (true) {
      RAILWAVE_TRY(knock());
      const auto welcome = step();
      if (!welcome) return fail(welcome.error());
      if (*welcome) break;
      const Deadline end = said_hello_ ? options_.deadline + kVerdict : options_.deadline;
      if (Clock::now() >= end) return late(what_is_late());
      RAILWAVE_TRY(loop_.wait(channel_.open() ? end : std::min(end, next_try_)));
    }
    return std::make_unique<TcpGuest>(options_.identity, std::move(channel_), std::move(loop_));
  }

 private:
  /// Starts the next attempt when its time has come. Rank 0 may not listen yet.
  Status knock() {
    if (channel_.open() || Clock::now() < next_try_) return {};
    auto socket = start_connecting(addresses_[attempt_++ % addresses_.size()]);
    if (!socket) {
      try_later();
      return {};
    }
    channel_ = Channel(std::move(*socket), kLongestWord);
    return loop_.watch(channel_.fd(), 0, Interest::Output);
  }

  /// True when rank 0 has welcomed us.
  Result<bool> step() {
    if (!channel_.open()) return false;
    if (!said_hello_) {
      // Asked before the handshake is over, the kernel knows no peer yet.
      auto ready = loop_.wait(Deadline{});
      if (!ready) return fail(ready.error());
      if (ready->empty()) return false;
      if (!connected(channel_.fd())) return try_later();
      channel_.queue(encode(MessageKind::Hello, 0, encode(hello())));
      if (!channel_.flush() || channel_.has_unsent()) return try_later();
      said_hello_ = true;
      RAILWAVE_TRY(loop_.rewatch(channel_.fd(), 0, Interest::Input));
    }
    Message message;
    switch (channel_.receive(message)) {
      case Channel::Got::Nothing:
        return false;
      case Channel::Got::End:
        return try_later();
      case Channel::Got::Malformed:
        return violated(where());
      case Channel::Got::Message:
        break;
    }
    if (message.header.kind == MessageKind::Failure) return told(message);
    if (message.header.kind != MessageKind::Welcome) return violated(where());
    return true;
  }

  bool try_later() {
    channel_.close();
    said_hello_ = false;
    next_try_ = Clock::now() + pause_;
    pause_ = std::min(pause_ * 2, kLongestPause);
    return false;
  }

  [[nodiscard]] Hello hello() const {
    Hello hello;
    hello.job = options_.identity.job;
    hello.generation = options_.generation;
    hello.world_size = static_cast<std::uint32_t>(options_.identity.world_size);
    hello.rank = static_cast<std::uint32_t>(options_.identity.rank);
    return hello;
  }
  [[nodiscard]] std::string where() const {
    return fmt::format("who listens on {}:{}", options_.identity.address, options_.identity.port);
  }
  [[nodiscard]] std::string what_is_late() const {
    return fmt::format("{} at {}:{}",
                       said_hello_ ? "has not welcomed this rank" : "could not be reached",
                       options_.identity.address, options_.identity.port);
  }

  const TcpBootstrapOptions& options_;
  std::vector<SocketAddress> addresses_;
  EventLoop loop_;
  Channel channel_;
  bool said_hello_ = false;
  std::size_t attempt_ = 0;
  Deadline next_try_;
  milliseconds pause_ = kFirstPause;
};

}  // namespace

Result<std::unique_ptr<AllGather>> visit_rank_0(const TcpBootstrapOptions& options) {
  auto addresses = resolve(options.identity.address, options.identity.port);
  if (!addresses) return fail(addresses.error());
  auto loop = EventLoop::create();
  if (!loop) return fail(loop.error());
  return Visit(options, std::move(*addresses), std::move(*loop)).run();
}

}  // namespace railwave::comm
