#include "bootstrap_channel.hpp"

#include <cerrno>
#include <utility>

#include <sys/socket.h>

namespace railwave::comm {

/// Fills `place` from the socket; Message when it is full.
Channel::Got Channel::read_into(std::span<std::byte> place, std::size_t& filled) {
  while (filled < place.size()) {
    const auto got =
        ::recv(socket_.get(), place.data() + filled, place.size() - filled, MSG_DONTWAIT);
    if (got > 0) {
      filled += static_cast<std::size_t>(got);
    } else if (got == 0) {
      return Got::End;
    } else if (errno == EAGAIN) {
      return Got::Nothing;
    } else if (errno != EINTR) {
      return Got::End;
    }
  }
  return Got::Message;
}

Channel::Got Channel::receive_header() {
  const Got got = read_into(header_bytes_, header_filled_);
  // A stranger is known by its first bytes: a few wrong ones are not waited on for more.
  if (!may_begin_message(std::span(header_bytes_).first(header_filled_))) return Got::Malformed;
  if (got != Got::Message) return got;
  const auto header = decode_header(header_bytes_);
  if (!header || header->bytes > longest_body_) return Got::Malformed;
  header_ = *header;
  body_.resize(static_cast<std::size_t>(header->bytes));
  body_filled_ = 0;
  return Got::Message;
}

Channel::Got Channel::receive(Message& message) {
  if (header_filled_ < kMessageHeaderBytes) {
    if (const Got got = receive_header(); got != Got::Message) return got;
  }
  const Got got = read_into(body_, body_filled_);
  if (got != Got::Message) return got;
  header_filled_ = 0;
  message.header = header_;
  message.body = std::exchange(body_, {});
  return Got::Message;
}

bool Channel::flush() {
  while (!unsent_.empty()) {
    const Bytes& first = *unsent_.front();
    const auto sent = ::send(socket_.get(), first.data() + sent_of_first_,
                             first.size() - sent_of_first_, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno == EAGAIN;
    sent_of_first_ += static_cast<std::size_t>(sent);
    if (sent_of_first_ < first.size()) continue;
    unsent_.pop_front();
    sent_of_first_ = 0;
  }
  return true;
}

}  // namespace railwave::comm
