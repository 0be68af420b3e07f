// The 64-byte header in front of everything that crosses a rail (docs/wire.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <railwave/error.hpp>

namespace railwave::transport {

enum class FrameKind : std::uint8_t {
  Hello = 1,     ///< first frame on an endpoint, no payload: proves the wire
  Header = 2,    ///< a node's part of the step's header exchange, or (flags 1) who is late in it
  Begin = 3,     ///< a sender's first byte of a window follows; no payload
  Records = 4,   ///< records first_record .. first_record + records - 1 of a stream
  Received = 5,  ///< barrier: the sending node has received its first `window` windows on this rail
  Grant = 6,     ///< the same, said to those alone who may start one now
};

/// Little-endian and fixed-width on the wire, whatever the machine.
struct FrameHeader {
  FrameKind kind = FrameKind::Hello;
  std::uint8_t flags = 0;
  std::uint64_t job = 0;         ///< the job's id: frames of another job are dropped
  std::uint32_t generation = 0;  ///< of the group within the job
  std::uint64_t step = 0;        ///< operation number within the group
  std::uint32_t window = 0;
  std::uint32_t source = 0;       ///< rank that sends the frame
  std::uint32_t destination = 0;  ///< rank that shall get it
  std::uint16_t rail = 0;         ///< egress rail at the source
  std::uint32_t first_record = 0;
  std::uint32_t records = 0;
  std::uint64_t bytes = 0;  ///< payload bytes behind the header
  friend bool operator==(const FrameHeader&, const FrameHeader&) = default;
};

constexpr std::size_t kFrameHeaderBytes = 64;
using FrameBytes = std::array<std::byte, kFrameHeaderBytes>;

/// Writes magic, version, the fields and the checksum (XXH3 of the 60 bytes before it, low 32
/// bits).
FrameBytes encode(const FrameHeader& header);
/// Errors: ProtocolViolation for a wrong length, magic, version or kind; IntegrityError for a wrong
/// checksum. Never reads past `bytes`.
Result<FrameHeader> decode(std::span<const std::byte> bytes);

}  // namespace railwave::transport
