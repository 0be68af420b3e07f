// One connection of the bootstrap: messages in, messages out, never blocking.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <string>

#include "base/event_loop.hpp"
#include "bootstrap_wire.hpp"

namespace railwave::comm {

/// Threads: belongs to one thread.
class Channel {
 public:
  Channel() = default;
  /// Bodies longer than `longest_body` are malformed.
  Channel(UniqueFd socket, std::uint64_t longest_body)
      : socket_(std::move(socket)), longest_body_(longest_body) {}

  [[nodiscard]] int fd() const { return socket_.get(); }
  [[nodiscard]] bool open() const { return static_cast<bool>(socket_); }
  void close() { *this = Channel(); }
  void set_longest_body(std::uint64_t bytes) { longest_body_ = bytes; }

  enum class Got : std::uint8_t {
    Nothing,    ///< the message is not complete yet
    Message,    ///< one has come
    End,        ///< the other end is gone
    Malformed,  ///< what came is none of ours
  };
  /// Reads what is there, at most to the end of one message.
  Got receive(Message& message);

  void queue(SharedBytes bytes) { unsent_.push_back(std::move(bytes)); }
  [[nodiscard]] bool has_unsent() const { return !unsent_.empty(); }
  /// Sends as much as fits. False when the other end is gone.
  bool flush();

 private:
  Got read_into(std::span<std::byte> place, std::size_t& filled);
  Got receive_header();

  UniqueFd socket_;
  std::uint64_t longest_body_ = 0;
  std::array<std::byte, kMessageHeaderBytes> header_bytes_{};
  std::size_t header_filled_ = 0;
  MessageHeader header_;
  Bytes body_;
  std::size_t body_filled_ = 0;
  std::deque<SharedBytes> unsent_;
  std::size_t sent_of_first_ = 0;
};

}  // namespace railwave::comm
