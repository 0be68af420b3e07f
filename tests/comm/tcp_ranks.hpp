// Ranks that meet over TCP on the loopback interface, each in a thread.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "comm/bootstrap.hpp"
#include "comm/rank_threads.hpp"

namespace railwave::comm {

constexpr std::uint64_t kJob = 0x1234'5678'9abc'def0;

inline sockaddr_in loopback(std::uint16_t port, std::uint32_t host = INADDR_LOOPBACK) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(host);
  return address;
}

/// A socket that listens on a port of the kernel's choice.
inline UniqueFd listen_anywhere(std::uint16_t& port) {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = loopback(0);
  socklen_t length = sizeof(address);
  auto* raw = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(::bind(socket.get(), raw, length), 0);
  EXPECT_EQ(::listen(socket.get(), 16), 0);
  EXPECT_EQ(::getsockname(socket.get(), raw, &length), 0);
  port = ntohs(address.sin_port);
  return socket;
}

inline std::uint16_t free_port() {
  std::uint16_t port = 0;
  const UniqueFd socket = listen_anywhere(port);
  return port;
}

inline TcpBootstrapOptions tcp_options(int rank, int ranks, std::uint16_t port,
                                       milliseconds limit = seconds(20)) {
  TcpBootstrapOptions options;
  options.identity.rank = rank;
  options.identity.world_size = ranks;
  options.identity.address = "127.0.0.1";
  options.identity.port = port;
  options.identity.job = kJob;
  options.deadline = Clock::now() + limit;
  return options;
}

inline bool readable(int fd, int wait_ms) {
  pollfd entry{fd, POLLIN, 0};
  return ::poll(&entry, 1, wait_ms) == 1;
}

/// Lets some time pass where lateness itself is what is tested.
inline void pass_time(milliseconds time) { ::poll(nullptr, 0, static_cast<int>(time.count())); }

/// A connection of somebody who is no rank of the job; tried until somebody listens.
inline UniqueFd stranger(std::uint16_t port) {
  const sockaddr_in address = loopback(port);
  for (int attempt = 0; attempt < 500; ++attempt) {
    UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) ==
        0) {
      return socket;
    }
    pass_time(milliseconds(10));
  }
  ADD_FAILURE() << "nobody listens on port " << port;
  return {};
}

inline void say(const UniqueFd& socket, std::span<const char> text) {
  static_cast<void>(::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL));
}

/// A hello as it lies on the wire, written from its description and not by the code under test.
inline std::vector<char> hello_bytes(std::uint64_t job, std::uint32_t world, std::uint32_t rank,
                                     std::uint32_t generation = 0) {
  std::vector<char> out;
  const auto put = [&out](std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
  };
  for (const char c : {'R', 'W', 'B', 'O', 'O', 'T', '0', '1'}) out.push_back(c);
  put(1, 4);   // Hello
  put(0, 4);   // round
  put(24, 8);  // bytes of the body
  put(job, 8);
  put(generation, 4);
  put(world, 4);
  put(rank, 4);
  put(0, 4);
  return out;
}

}  // namespace railwave::comm
