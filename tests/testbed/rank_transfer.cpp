// A rank of the tests: some ranks send bytes to one receiver along a rail.
//   rank_transfer DIRECTORY BYTES RECEIVER RECEIVER_RAIL SENDER...
// The directory holds a FIFO per sender, on which it waits until the receiver listens.
// The receiver prints the seconds from the first connection to the last byte, and the longest
// retransmission time-out of its connections in milliseconds.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "testbed/cluster_spec.hpp"

namespace {

using railwave::NodeId;
using railwave::RailId;
namespace testbed = railwave::testbed;
constexpr std::uint16_t kPort = 7000;

[[noreturn]] void give_up(const char* what) {
  std::perror(what);
  std::exit(9);
}

NodeId node_of(const testbed::ClusterSpec& spec, int rank) {
  int node = 0;
  while (rank >= spec.ranks_per_node[NodeId(node).index()]) {
    rank -= spec.ranks_per_node[NodeId(node++).index()];
  }
  return NodeId(node);
}

std::string fifo_of(const std::string& directory, int sender) {
  return directory + "/ready." + std::to_string(sender);
}

/// In milliseconds, as the kernel has it after the handshake.
double retransmission_time(int connection) {
  tcp_info state{};
  socklen_t size = sizeof state;
  if (::getsockopt(connection, IPPROTO_TCP, TCP_INFO, &state, &size) != 0) give_up("TCP_INFO");
  return state.tcpi_rto / 1000.0;
}

void receive(const sockaddr_in& address, const std::string& directory, long bytes,
             const std::vector<int>& senders) {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  const int one = 1;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener, 64) != 0) {
    give_up("listen");
  }
  for (const int sender : senders) {
    ::close(::open(fifo_of(directory, sender).c_str(), O_WRONLY));
  }
  std::vector<int> connections;
  auto began = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < senders.size(); ++i) {
    connections.push_back(::accept(listener, nullptr, nullptr));
    if (i == 0) began = std::chrono::steady_clock::now();
  }
  std::vector<char> piece(65536);
  double longest = 0;
  for (const int connection : connections) {
    longest = std::max(longest, retransmission_time(connection));
    long got = 0;
    for (ssize_t n = 0; (n = ::read(connection, piece.data(), piece.size())) > 0;) got += n;
    if (got != bytes) give_up("short transfer");
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  std::printf("%.6f %.3f\n", took.count(), longest);
}

void send(const sockaddr_in& address, const std::string& directory, long bytes, int rank) {
  ::close(::open(fifo_of(directory, rank).c_str(), O_RDONLY));
  const int connection = ::socket(AF_INET, SOCK_STREAM, 0);
  if (::connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    give_up("connect");
  }
  const std::vector<char> piece(65536);
  for (long sent = 0; sent < bytes;) {
    const auto size = std::min<std::size_t>(piece.size(), static_cast<std::size_t>(bytes - sent));
    const auto n = ::write(connection, piece.data(), size);
    if (n <= 0) give_up("write");
    sent += n;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto spec = testbed::cluster_from_environment().value().value();
  const int rank = std::atoi(std::getenv("RANK"));
  const std::string directory = argv[1];
  const long bytes = std::atol(argv[2]);
  const int receiver = std::atoi(argv[3]);
  const RailId rail(std::atoi(argv[4]));
  std::vector<int> senders;
  for (int i = 5; i < argc; ++i) senders.push_back(std::atoi(argv[i]));
  const auto raw = testbed::rail_address(spec, node_of(spec, receiver), rail);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(kPort);
  std::memcpy(&address.sin_addr, raw.data(), raw.size());
  if (rank == receiver) receive(address, directory, bytes, senders);
  for (const int sender : senders) {
    if (sender == rank) send(address, directory, bytes, rank);
  }
}
