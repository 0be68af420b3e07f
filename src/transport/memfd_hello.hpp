// What two ranks of a node say to each other when they meet.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include <railwave/error.hpp>

#include "base/event_loop.hpp"
#include "segment.hpp"
#include "transport/memfd_fabric.hpp"
#include "unix_packet.hpp"

namespace railwave::transport {

/// The packet in both directions. Same machine, so native byte order.
struct Hello {
  std::uint64_t magic = 0;
  std::uint64_t key = 0;
  std::int32_t size = 0;
  std::int32_t local = 0;
  std::int64_t segment_bytes = 0;
};
static_assert(sizeof(Hello) == 32);

struct MetPeer {
  UniqueFd socket;
  UniqueFd event;
  Mapping mapping;
  std::int64_t bytes = 0;
};

/// Errors: InvalidArgument{size, local or key}.
Status check_options(const MemfdFabricOptions& options);
/// The abstract name at which local rank `local` listens.
std::string meeting_name(const MemfdFabricOptions& options, int local);

/// Sends this rank's hello with its memfd and eventfd. False when the other end is gone.
bool say_hello(int socket, const MemfdFabricOptions& options,
               const std::array<int, kPacketFds>& fds);
/// Receives a packet into `hello`; empty when there is none yet.
std::optional<Packet> hear_hello(int socket, Hello& hello);
/// True when it is a whole hello of a rank of the same meeting.
bool belongs(const Packet& packet, const Hello& hello, const MemfdFabricOptions& options);
/// Maps what came with a rank's hello. Errors: ProtocolViolation{local rank}, ResourceExhausted.
Status take_segment(const Hello& hello, Packet& packet, MetPeer& peer);

}  // namespace railwave::transport
