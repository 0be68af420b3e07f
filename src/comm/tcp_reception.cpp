#include "tcp_reception.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/fail.hpp"
#include "tcp_socket.hpp"

namespace railwave::comm {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kSilence{5000};       // a connection that says nothing is closed
constexpr milliseconds kPortMayClear{1000};  // a job before may be ending just now
constexpr milliseconds kPortPause{50};
constexpr std::size_t kMostGuests = 256;

/// A connection that has not said yet who it is.
struct Guest {
  Channel channel;
  Deadline until;
};

class Reception {
 public:
  Reception(const TcpBootstrapOptions& options, EventLoop loop)
      : options_(options),
        loop_(std::move(loop)),
        members_(static_cast<std::size_t>(options.identity.world_size)) {}

  Result<std::vector<Channel>> run() {
    RAILWAVE_TRY(listen());
    Status outcome = receive();
    const auto word = outcome ? encode(MessageKind::Welcome, 0, {})
                              : encode(MessageKind::Failure, 0, encode(outcome.error()));
    for (Channel& member : members_) {
      if (!member.open()) continue;
      member.queue(word);
      // A member that is gone by now is found by the first all-gather.
      static_cast<void>(member.flush());
      member.set_longest_body(kLongestPart);
    }
    if (!outcome) return fail(std::move(outcome).error());
    return std::move(members_);
  }

 private:
  Status listen() {
    const LaunchIdentity& identity = options_.identity;
    const auto addresses = resolve(identity.address, identity.port);
    if (!addresses) return fail(addresses.error());
    const Deadline give_up = std::min(options_.deadline, Clock::now() + kPortMayClear);
    while (true) {
      int code = 0;
      for (const SocketAddress& address : *addresses) {
        Listening listening = listen_on(address);
        code = listening.code;
        if (code != 0) continue;
        listener_ = std::move(listening.socket);
        return watch(listener_.get());
      }
      if (code != EADDRINUSE || Clock::now() >= give_up) {
        return fail(ErrorCode::InvalidArgument, RankId(0), "address",
                    fmt::format("rank 0 can not listen on {}:{}: {}; choose another MASTER_PORT or "
                                "an address of this host",
                                identity.address, identity.port, std::strerror(code)));
      }
      RAILWAVE_TRY(loop_.wait(std::min(give_up, Clock::now() + kPortPause)));
    }
  }

  Status receive() {
    while (!missing().empty()) {
      if (Clock::now() >= options_.deadline) return late();
      auto ready = loop_.wait(next_wake());
      if (!ready) return fail(ready.error());
      for (const std::uint64_t tag : *ready) RAILWAVE_TRY(handle(static_cast<int>(tag)));
      send_off_silent_guests();
    }
    return {};
  }

  [[nodiscard]] std::vector<int> missing() const {
    std::vector<int> ranks;
    for (std::size_t rank = 1; rank < members_.size(); ++rank) {
      if (!members_[rank].open()) ranks.push_back(static_cast<int>(rank));
    }
    return ranks;
  }
  [[nodiscard]] tl::unexpected<Error> late() const {
    const auto ranks = missing();
    return fail(ErrorCode::Timeout, RankId(ranks.front()), "missing",
                fmt::format("ranks [{}] of {} did not come to {}:{} in time", fmt::join(ranks, ","),
                            members_.size(), options_.identity.address, options_.identity.port));
  }
  [[nodiscard]] Deadline next_wake() const {
    Deadline wake = options_.deadline;
    for (const auto& [fd, guest] : guests_) wake = std::min(wake, guest.until);
    return wake;
  }

  Status watch(int fd) { return loop_.watch(fd, static_cast<std::uint64_t>(fd)); }

  Status handle(int fd) {
    if (fd == listener_.get()) return accept();
    if (const auto guest = guests_.find(fd); guest != guests_.end()) {
      hear(guest->second);
      return {};
    }
    for (std::size_t rank = 1; rank < members_.size(); ++rank) {
      if (members_[rank].fd() == fd) hear_member(rank);
    }
    return {};
  }

  Status accept() {
    while (true) {
      UniqueFd socket;
      switch (accept_next(listener_.get(), socket)) {
        case Accepted::None:
          return {};
        case Accepted::NoDescriptorLeft:
          if (guests_.empty()) {
            return fail(ErrorCode::ResourceExhausted, "accept",
                        "no descriptor is left for the ranks' connections; raise RLIMIT_NOFILE");
          }
          refuse(*oldest_guest(), "no descriptor was left");
          break;
        case Accepted::Connection:
          if (guests_.size() >= kMostGuests) refuse(*oldest_guest(), "too many are waiting");
          RAILWAVE_TRY(watch(socket.get()));
          const int fd = socket.get();
          guests_[fd] = Guest{Channel(std::move(socket), kHelloBytes), Clock::now() + kSilence};
      }
    }
  }

  [[nodiscard]] Guest* oldest_guest() {
    return &std::min_element(guests_.begin(), guests_.end(), [](const auto& a, const auto& b) {
              return a.second.until < b.second.until;
            })->second;
  }
  void send_off_silent_guests() {
    while (!guests_.empty()) {
      Guest* guest = oldest_guest();
      if (guest->until > Clock::now()) return;
      refuse(*guest, "it stayed silent");
    }
  }
  void refuse(Guest& guest, const std::string& why) {
    guests_.erase(guest.channel.fd());
    if (options_.on_refused) options_.on_refused(why);
  }

  void hear(Guest& guest) {
    Message message;
    switch (guest.channel.receive(message)) {
      case Channel::Got::Nothing:
        return;
      case Channel::Got::End:
        return refuse(guest, "it hung up");
      case Channel::Got::Malformed:
        return refuse(guest, "what it said is no hello");
      case Channel::Got::Message:
        break;
    }
    const auto hello = decode_hello(message.body);
    if (message.header.kind != MessageKind::Hello || !hello) {
      return refuse(guest, "what it said is no hello");
    }
    const std::string fault = fault_of(*hello);
    if (fault.empty()) return let_in(guest, hello->rank);
    const Error error{ErrorCode::PeerRejected, static_cast<std::int32_t>(hello->rank), "bootstrap",
                      "rank 0 refused this rank: " + fault};
    guest.channel.queue(encode(MessageKind::Failure, 0, encode(error)));
    static_cast<void>(guest.channel.flush());
    refuse(guest, fault);
  }

  [[nodiscard]] std::string fault_of(const Hello& hello) const {
    const LaunchIdentity& identity = options_.identity;
    if (hello.job != identity.job) return "it is of another job";
    if (hello.generation != options_.generation) {
      return fmt::format("it is of generation {}, this group of {}", hello.generation,
                         options_.generation);
    }
    if (hello.world_size != members_.size()) {
      return fmt::format("it counts {} ranks, this group {}", hello.world_size, members_.size());
    }
    if (hello.rank == 0 || hello.rank >= members_.size()) {
      return fmt::format("rank {} is not between 1 and {}", hello.rank, members_.size() - 1);
    }
    if (members_[hello.rank].open()) return fmt::format("rank {} is here already", hello.rank);
    return {};
  }

  void let_in(Guest& guest, std::size_t rank) {
    const int fd = guest.channel.fd();
    members_[rank] = std::move(guest.channel);
    guests_.erase(fd);
  }

  /// A rank that is here says nothing until it is welcomed. When it leaves, its place is free
  /// again: a launcher may start it anew.
  void hear_member(std::size_t rank) {
    Message message;
    if (members_[rank].receive(message) != Channel::Got::Nothing) members_[rank].close();
  }

  const TcpBootstrapOptions& options_;
  EventLoop loop_;
  UniqueFd listener_;
  std::map<int, Guest> guests_;  // by descriptor
  std::vector<Channel> members_;
};

}  // namespace

Result<std::vector<Channel>> receive_ranks(const TcpBootstrapOptions& options) {
  auto loop = EventLoop::create();
  if (!loop) return fail(loop.error());
  return Reception(options, std::move(*loop)).run();
}

}  // namespace railwave::comm
