// What ranks say to each other on the bootstrap's connections. Little-endian.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <railwave/error.hpp>

namespace railwave::comm {

using Bytes = std::vector<std::byte>;
using SharedBytes = std::shared_ptr<const Bytes>;

enum class MessageKind : std::uint32_t {
  Hello = 1,     ///< a rank says who it is
  Welcome = 2,   ///< rank 0: all ranks are here
  Part = 3,      ///< a rank's part of an all-gather
  Gathered = 4,  ///< rank 0: everybody's parts, each after its length
  Failure = 5,   ///< rank 0: the meeting or the all-gather has failed, and why
};

/// In front of every message: magic, kind, round of the all-gather, bytes of the body.
struct MessageHeader {
  MessageKind kind = MessageKind::Hello;
  std::uint32_t round = 0;
  std::uint64_t bytes = 0;
};

struct Message {
  MessageHeader header;
  Bytes body;
};

constexpr std::size_t kMessageHeaderBytes = 24;
constexpr std::size_t kHelloBytes = 24;
constexpr std::uint64_t kLongestPart = std::uint64_t{1} << 30;

struct Hello {
  std::uint64_t job = 0;
  std::uint32_t generation = 0;
  std::uint32_t world_size = 0;
  std::uint32_t rank = 0;
};

/// Header and body in one piece.
SharedBytes encode(MessageKind kind, std::uint32_t round, std::span<const std::byte> body);
/// True when the bytes, however few, can be the start of a message.
bool may_begin_message(std::span<const std::byte> bytes);
/// Empty when magic or kind is unknown.
std::optional<MessageHeader> decode_header(std::span<const std::byte, kMessageHeaderBytes> bytes);

Bytes encode(const Hello& hello);
std::optional<Hello> decode_hello(std::span<const std::byte> body);

Bytes encode(const Error& error);
std::optional<Error> decode_error(std::span<const std::byte> body);

Bytes encode(const std::vector<Bytes>& parts);
/// Empty unless the body holds exactly `ranks` parts.
std::optional<std::vector<Bytes>> decode_parts(std::span<const std::byte> body, std::size_t ranks);

}  // namespace railwave::comm
