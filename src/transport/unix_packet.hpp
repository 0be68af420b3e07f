// Abstract Unix sockets that carry packets and descriptors between the ranks of a node.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include <railwave/error.hpp>

#include "base/event_loop.hpp"

namespace railwave::transport {

constexpr std::size_t kPacketFds = 2;

/// Binds and listens on an abstract name, non-blocking; empty when another socket has the name.
Result<std::optional<UniqueFd>> listen_at(const std::string& name);
/// Connects to an abstract name; empty when nobody listens there, or has no room just now.
Result<std::optional<UniqueFd>> connect_to(const std::string& name);
/// The next connection; empty when there is none.
Result<std::optional<UniqueFd>> accept_from(int listener);
/// True when the process at the other end runs as the same user.
bool same_user(int socket);
/// True when the other end is closed and nothing is left to read.
bool hung_up(int socket);

/// Sends one packet with two descriptors. False when the other end is gone.
bool send_packet(int socket, std::span<const std::byte> bytes,
                 const std::array<int, kPacketFds>& fds);

struct Packet {
  std::size_t bytes = 0;  ///< received into the caller's buffer; 0 when the other end is gone
  std::array<UniqueFd, kPacketFds> fds;
  bool whole = false;  ///< nothing was cut off and both descriptors came
};

/// Receives one packet; empty when there is none yet.
std::optional<Packet> receive_packet(int socket, std::span<std::byte> buffer);

}  // namespace railwave::transport
