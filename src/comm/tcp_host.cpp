#include "tcp_host.hpp"

#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/fail.hpp"

namespace railwave::comm {
namespace {

class TcpHost final : public AllGather {
 public:
  TcpHost(std::vector<Channel> members, EventLoop loop)
      : members_(std::move(members)), loop_(std::move(loop)) {}

  Result<std::vector<Bytes>> all_gather(std::span<const std::byte> mine,
                                        Deadline deadline) override {
    if (failed_) return fail(*failed_);
    if (mine.size() > kLongestPart) {
      return fail(ErrorCode::InvalidArgument, "mine",
                  fmt::format("{} bytes are more than 1 GiB", mine.size()));
    }
    ++round_;
    auto parts = collect(mine, deadline);
    if (parts) {
      if (Status status = distribute(*parts, deadline); !status) {
        parts = fail(std::move(status).error());
      }
    }
    if (!parts) give_up(parts.error());
    return parts;
  }

 private:
  Result<std::vector<Bytes>> collect(std::span<const std::byte> mine, Deadline deadline) {
    std::vector<Bytes> parts(members_.size());
    std::vector<bool> here(members_.size(), false);
    parts[0].assign(mine.begin(), mine.end());
    here[0] = true;
    for (std::size_t rank = 1; rank < members_.size(); ++rank) {
      RAILWAVE_TRY(loop_.watch(members_[rank].fd(), rank));
    }
    while (true) {
      const auto missing = absent(here);
      if (missing.empty()) break;
      if (Clock::now() >= deadline) return late(missing, "have not sent their part");
      auto ready = loop_.wait(deadline);
      if (!ready) return fail(ready.error());
      for (const std::uint64_t rank : *ready) {
        RAILWAVE_TRY(hear(static_cast<std::size_t>(rank), parts, here));
      }
    }
    for (std::size_t rank = 1; rank < members_.size(); ++rank) {
      RAILWAVE_TRY(loop_.unwatch(members_[rank].fd()));
    }
    return parts;
  }

  Status hear(std::size_t rank, std::vector<Bytes>& parts, std::vector<bool>& here) {
    Message message;
    switch (members_[rank].receive(message)) {
      case Channel::Got::Nothing:
        return {};
      case Channel::Got::End:
        return ended(rank);
      case Channel::Got::Malformed:
        return violated(rank);
      case Channel::Got::Message:
        break;
    }
    // Nobody can be a round ahead: it has not got this one's parts yet.
    const bool expected =
        message.header.kind == MessageKind::Part && message.header.round == round_ && !here[rank];
    if (!expected) return violated(rank);
    parts[rank] = std::move(message.body);
    here[rank] = true;
    return {};
  }

  /// Every member gets the same bytes at its own speed.
  Status distribute(const std::vector<Bytes>& parts, Deadline deadline) {
    const auto all = encode(MessageKind::Gathered, round_, encode(parts));
    std::vector<bool> done(members_.size(), true);
    for (std::size_t rank = 1; rank < members_.size(); ++rank) {
      Channel& member = members_[rank];
      member.queue(all);
      if (!member.flush()) return ended(rank);
      done[rank] = !member.has_unsent();
      if (!done[rank]) RAILWAVE_TRY(loop_.watch(member.fd(), rank, Interest::Output));
    }
    while (true) {
      const auto slow = absent(done);
      if (slow.empty()) return {};
      if (Clock::now() >= deadline) return late(slow, "have not taken the others' parts");
      auto ready = loop_.wait(deadline);
      if (!ready) return fail(ready.error());
      for (const std::uint64_t tag : *ready) {
        const auto rank = static_cast<std::size_t>(tag);
        Channel& member = members_[rank];
        if (!member.flush()) return ended(rank);
        if (member.has_unsent()) continue;
        done[rank] = true;
        RAILWAVE_TRY(loop_.unwatch(member.fd()));
      }
    }
  }

  /// Tells everyone why, so that all ranks name the same culprit.
  void give_up(const Error& error) {
    failed_ = error;
    const auto word = encode(MessageKind::Failure, round_, encode(error));
    for (std::size_t rank = 1; rank < members_.size(); ++rank) {
      members_[rank].queue(word);
      static_cast<void>(members_[rank].flush());
    }
  }

  [[nodiscard]] static std::vector<std::size_t> absent(const std::vector<bool>& here) {
    std::vector<std::size_t> ranks;
    for (std::size_t rank = 0; rank < here.size(); ++rank) {
      if (!here[rank]) ranks.push_back(rank);
    }
    return ranks;
  }
  static tl::unexpected<Error> late(const std::vector<std::size_t>& ranks, const char* what) {
    return fail(ErrorCode::Timeout, RankId(ranks.front()), "missing",
                fmt::format("ranks [{}] {} in time", fmt::join(ranks, ","), what));
  }
  static tl::unexpected<Error> ended(std::size_t rank) {
    return fail(ErrorCode::PeerFailed, RankId(rank), "bootstrap",
                fmt::format("the connection to rank {} broke", rank));
  }
  static tl::unexpected<Error> violated(std::size_t rank) {
    return fail(ErrorCode::ProtocolViolation, RankId(rank), "bootstrap",
                fmt::format("rank {} sent what it should not have", rank));
  }

  std::vector<Channel> members_;
  EventLoop loop_;
  std::uint32_t round_ = 0;
  std::optional<Error> failed_;
};

}  // namespace

Result<std::unique_ptr<AllGather>> make_tcp_host(std::vector<Channel> members) {
  auto loop = EventLoop::create();
  if (!loop) return fail(loop.error());
  return std::make_unique<TcpHost>(std::move(members), std::move(*loop));
}

}  // namespace railwave::comm
