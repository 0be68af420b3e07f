#include "memfd_hello.hpp"

#include <span>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/fail.hpp"

namespace railwave::transport {
namespace {

constexpr std::uint64_t kMagic = 0x31424146'45564157;  // "WAVEFAB1"

std::uint64_t hash_of_key(const MemfdFabricOptions& options) {
  return XXH3_64bits(options.key.data(), options.key.size());
}

}  // namespace

Status check_options(const MemfdFabricOptions& options) {
  if (options.size < 1 || options.size > 4096) {
    return fail(ErrorCode::InvalidArgument, "size",
                fmt::format("{} ranks in a node; 1 to 4096 can meet", options.size));
  }
  if (options.local < 0 || options.local >= options.size) {
    return fail(ErrorCode::InvalidArgument, "local",
                fmt::format("local rank {} of {}", options.local, options.size));
  }
  if (options.key.empty()) {
    return fail(ErrorCode::InvalidArgument, "key",
                "an empty key would meet every job of this user; name the job");
  }
  return {};
}

std::string meeting_name(const MemfdFabricOptions& options, int local) {
  const std::string text = fmt::format("{}/{}/{}", ::geteuid(), options.size, options.key);
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("railwave-{:016x}{:016x}-{}", hash.high64, hash.low64, local);
}

bool say_hello(int socket, const MemfdFabricOptions& options,
               const std::array<int, kPacketFds>& fds) {
  Hello hello;
  hello.magic = kMagic;
  hello.key = hash_of_key(options);
  hello.size = options.size;
  hello.local = options.local;
  hello.segment_bytes = options.segment_bytes;
  return send_packet(socket, std::as_bytes(std::span(&hello, 1)), fds);
}

std::optional<Packet> hear_hello(int socket, Hello& hello) {
  return receive_packet(socket, std::as_writable_bytes(std::span(&hello, 1)));
}

bool belongs(const Packet& packet, const Hello& hello, const MemfdFabricOptions& options) {
  return packet.whole && packet.bytes == sizeof(Hello) && hello.magic == kMagic &&
         hello.key == hash_of_key(options) && hello.size == options.size;
}

Status take_segment(const Hello& hello, Packet& packet, MetPeer& peer) {
  auto mapping = map_peer_segment(packet.fds[0].get(), hello.segment_bytes);
  if (!mapping) {
    Error error = std::move(mapping).error();
    if (error.code == ErrorCode::ProtocolViolation) error.rank = hello.local;
    return fail(std::move(error));
  }
  // signal() never blocks, which only the descriptor's maker can decide.
  const int flags = ::fcntl(packet.fds[1].get(), F_GETFL);
  if (flags < 0 || (flags & O_NONBLOCK) == 0) {
    return fail(ErrorCode::ProtocolViolation, RankId(hello.local), "event",
                "the peer's event descriptor would block");
  }
  peer.event = std::move(packet.fds[1]);
  peer.mapping = std::move(*mapping);
  peer.bytes = hello.segment_bytes;
  return {};
}

}  // namespace railwave::transport
