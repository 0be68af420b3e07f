// What plain sockets lose: the windows of every path's plan over bare TCP connections.
//
// Run it on the ranks of an emulated cluster, with the options of `railwave replay`:
//   railwave emulate -- build/bin/plain_sockets --trace FILE --experts 64 --schedule extreme
// Every driver pair of a plan has a connection of its own on its rail, made once. In each window
// the senders write all that they have at once and the receivers read it; nothing is packed,
// framed, checked or planned inside the time, and the way from one window to the next costs
// nothing: a window's time is from the moment at which all ranks start it to the last rank's last
// byte. So the ratio to the path bound is what the network and TCP lose at the window's fan-in.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/event_loop.hpp"
#include "base/fail.hpp"
#include "exec/streams.hpp"
#include "launch_meeting.hpp"
#include "plan/dispatch_plan.hpp"
#include "plan/lower_bound.hpp"
#include "replay_options.hpp"
#include "replay_workload.hpp"
#include "report/quantiles.hpp"
#include "run_environment.hpp"
#include "testbed/cluster_spec.hpp"

namespace railwave::bench {
namespace {

using exec::Stream;

constexpr std::uint16_t kPort = 21000;
constexpr std::size_t kPiece = std::size_t{64} << 10;

Error system_error(const char* call) {
  return Error{ErrorCode::ResourceExhausted, -1, call, std::strerror(errno)};
}

/// One direction of one connection in one window.
struct Transfer {
  int fd = -1;
  bool sends = false;
  std::int64_t left = 0;  // bytes
};

class Peer {
 public:
  Peer(cli::ReplayOptions options, cli::ReplayRequest request, testbed::ClusterSpec spec,
       Topology topology, cli::ReplayWorkload work)
      : options_(std::move(options)),
        request_(std::move(request)),
        spec_(std::move(spec)),
        topology_(std::move(topology)),
        work_(std::move(work)),
        row_bytes_(options_.hidden * element_bytes(request_.dtype)) {}

  Result<int> run();

 private:
  Status meet();
  Status connect_all();
  Status send_hello(RailId rail, RankId to);
  Result<UniqueFd> listener();
  [[nodiscard]] sockaddr_in address_of(RankId rank, RailId rail) const;
  Result<Clock::time_point> all_here();
  Result<double> path_seconds(const plan::DispatchPlan& plan);
  Result<double> window_seconds(std::vector<Transfer> transfers);
  Status move(std::vector<Transfer>& transfers, Deadline deadline);
  Status step(Transfer& transfer);

  cli::ReplayOptions options_;
  cli::ReplayRequest request_;
  testbed::ClusterSpec spec_;
  Topology topology_;
  cli::ReplayWorkload work_;
  std::int64_t row_bytes_;
  RankId self_;
  std::vector<std::byte> piece_ = std::vector<std::byte>(kPiece);
  std::unique_ptr<comm::AllGather> all_gather_;
  std::map<std::pair<RankId, RailId>, UniqueFd> to_;    // by peer and this node's rail
  std::map<std::pair<RankId, RailId>, UniqueFd> from_;  // by peer and the peer's rail
};

sockaddr_in Peer::address_of(RankId rank, RailId rail) const {
  const testbed::Ipv4 bytes = testbed::rail_address(spec_, topology_.node_of(rank), rail);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(kPort + topology_.local_of(rank)));
  std::memcpy(&address.sin_addr, bytes.data(), bytes.size());
  return address;
}

Status Peer::meet() {
  auto met = cli::meet_launched_ranks();
  if (!met) return fail(std::move(met).error());
  self_ = met->self;
  all_gather_ = std::move(met->all_gather);
  return {};
}

/// Listens on all of this rank's addresses; the port tells the ranks of a node apart.
Result<UniqueFd> Peer::listener() {
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = address_of(self_, RailId(0));
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  if (!socket || ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(socket.get(), 256) != 0) {
    return fail(system_error("listen"));
  }
  return socket;
}

Status Peer::send_hello(RailId rail, RankId to) {
  const NodeId here = topology_.node_of(self_);
  const RailId far = topology_.ingress(here, topology_.node_of(to), rail);
  UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in own = address_of(self_, rail);
  own.sin_port = 0;
  const sockaddr_in there = address_of(to, far);
  const std::array<std::int32_t, 2> hello{self_.value, rail.value};
  if (!socket || ::bind(socket.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0 ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&there), sizeof there) != 0 ||
      ::send(socket.get(), hello.data(), sizeof hello, 0) != sizeof hello) {
    return fail(system_error("connect"));
  }
  const int on = 1;
  (void)::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  if (request_.socket_buffer && *request_.socket_buffer > 0) {
    const int bytes = static_cast<int>(*request_.socket_buffer);
    (void)::setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
  }
  to_.insert_or_assign({to, rail}, std::move(socket));
  return {};
}

/// A connection to every rank that this one may send to on a rail, and from every one that may.
Status Peer::connect_all() {
  auto listening = listener();
  if (!listening) return fail(std::move(listening).error());
  if (const auto here = all_here(); !here) return fail(here.error());
  const NodeId node = topology_.node_of(self_);
  std::size_t expected = 0;
  for (int n = 0; n < topology_.nodes(); ++n) {
    const NodeId other(n);
    if (other == node) continue;
    for (const RailId rail : topology_.eligible(node, other)) {
      const RailId far = topology_.ingress(node, other, rail);
      const auto near = topology_.drivers(node, rail);
      const auto there = topology_.drivers(other, far);
      const auto mine = std::find(near.begin(), near.end(), self_);
      if (mine == near.end()) continue;
      const auto lane = static_cast<std::size_t>(mine - near.begin());
      RAILWAVE_TRY(send_hello(rail, there[lane % there.size()]));
      for (std::size_t from = 0; from < there.size(); ++from) {
        if (near[from % near.size()] == self_) ++expected;
      }
    }
  }
  while (from_.size() < expected) {
    UniqueFd socket(::accept4(listening->get(), nullptr, nullptr, SOCK_CLOEXEC));
    std::array<std::int32_t, 2> hello{};
    if (!socket || ::recv(socket.get(), hello.data(), sizeof hello, MSG_WAITALL) != sizeof hello) {
      return fail(system_error("accept"));
    }
    from_.insert_or_assign({RankId(hello[0]), RailId(hello[1])}, std::move(socket));
  }
  return {};
}

Result<Clock::time_point> Peer::all_here() {
  const std::int64_t now = Clock::now().time_since_epoch().count();
  const auto all = all_gather_->all_gather(std::as_bytes(std::span(&now, 1)),
                                           Clock::now() + std::chrono::seconds(60));
  if (!all) return fail(all.error());
  std::int64_t latest = 0;
  for (const auto& bytes : *all) {
    std::int64_t theirs = 0;
    std::memcpy(&theirs, bytes.data(), sizeof theirs);
    latest = std::max(latest, theirs);
  }
  return Clock::time_point(Clock::duration(latest));
}

/// Writes or reads what can be without waiting.
Status Peer::step(Transfer& transfer) {
  while (transfer.left > 0) {
    const auto size = std::min<std::size_t>(kPiece, static_cast<std::size_t>(transfer.left));
    const ssize_t done = transfer.sends
                             ? ::send(transfer.fd, piece_.data(), size, MSG_DONTWAIT | MSG_NOSIGNAL)
                             : ::recv(transfer.fd, piece_.data(), size, MSG_DONTWAIT);
    if (done < 0 && (errno == EAGAIN || errno == EINTR)) return {};
    if (done <= 0) return fail(system_error(transfer.sends ? "send" : "recv"));
    transfer.left -= done;
  }
  return {};
}

Status Peer::move(std::vector<Transfer>& transfers, Deadline deadline) {
  while (true) {
    std::vector<pollfd> waiting;
    for (Transfer& transfer : transfers) {
      RAILWAVE_TRY(step(transfer));
      if (transfer.left == 0) continue;
      const short events = transfer.sends ? POLLOUT : POLLIN;
      waiting.push_back({transfer.fd, events, 0});
    }
    if (waiting.empty()) return {};
    if (Clock::now() >= deadline) {
      return fail(ErrorCode::Timeout, "window", "a window did not end in time");
    }
    (void)::poll(waiting.data(), waiting.size(), 1000);
  }
}

/// Seconds from the common start to the last rank's last byte.
Result<double> Peer::window_seconds(std::vector<Transfer> transfers) {
  const auto latest = all_here();
  if (!latest) return fail(latest.error());
  const Clock::time_point start = *latest + std::chrono::milliseconds(20);
  std::this_thread::sleep_until(start);
  RAILWAVE_TRY(move(transfers, start + std::chrono::seconds(60)));
  const auto end = all_here();
  if (!end) return fail(end.error());
  return std::chrono::duration<double>(*end - start).count();
}

Result<double> Peer::path_seconds(const plan::DispatchPlan& plan) {
  const exec::NodeStreams streams =
      exec::node_streams(plan, topology_.node_of(self_), exec::Operation::Dispatch,
                         exec::ChunkShape::of(0, row_bytes_, 1));
  double total = 0;
  for (std::size_t window = 0; window < plan.windows().size(); ++window) {
    std::vector<Transfer> transfers;
    for (const Stream& out : streams.outbound) {
      if (out.window != window || out.sender != self_) continue;
      transfers.push_back(
          {to_.at({out.receiver, out.sender_rail}).get(), true, out.records * row_bytes_});
    }
    for (const Stream& in : streams.inbound) {
      if (in.window != window || in.receiver != self_) continue;
      transfers.push_back(
          {from_.at({in.sender, in.sender_rail}).get(), false, in.records * row_bytes_});
    }
    const auto seconds = window_seconds(std::move(transfers));
    if (!seconds) return seconds;
    total += *seconds;
  }
  return total;
}

Result<int> Peer::run() {
  RAILWAVE_TRY(meet());
  RAILWAVE_TRY(connect_all());
  const double rate = testbed::rate_of_weight_one(spec_, topology_);
  const std::int64_t burst = testbed::burst_over_weight(spec_, topology_);
  if (self_ == RankId(0)) {
    fmt::print("# plain sockets: {} layers, {} repeats, schedule {}; a window's start is free\n",
               work_.layers.size(), options_.repeats, options_.schedule);
    fmt::print("# path                 p50 (ms)  path bound (ms)   ratio\n");
  }
  for (const Path path : request_.paths) {
    double sum = 0;
    double bound = 0;
    for (const cli::ReplayLayer& layer : work_.layers) {
      const auto plan = plan::DispatchPlan::create(topology_, layer.counts, {path, layer.windows});
      if (!plan) return fail(plan.error());
      bound += plan::bound_seconds(plan::barrier_path_bound(*plan), row_bytes_, rate, burst);
      std::vector<double> samples;
      for (int repeat = -1; repeat < options_.repeats; ++repeat) {
        const auto seconds = path_seconds(*plan);
        if (!seconds) return fail(seconds.error());
        if (repeat >= 0) samples.push_back(*seconds);
      }
      sum += report::nearest_rank(samples, 50).value_or(0);
    }
    if (self_ == RankId(0)) {
      fmt::print("  {:<18} {:>10.2f} {:>16.2f} {:>7.2f}\n", to_string(path), sum * 1e3, bound * 1e3,
                 sum / bound);
    }
  }
  return 0;
}

Result<int> run(const cli::ReplayOptions& options) {
  auto request = cli::understand(options);
  if (!request) return fail(std::move(request).error());
  auto spec = cli::cluster_of_this_rank("railwave emulate -- plain_sockets ...");
  if (!spec) return fail(std::move(spec).error());
  auto topology = Topology::create(testbed::topology_options(*spec));
  if (!topology) return fail(std::move(topology).error());
  auto work = cli::make_workload(options, *request, *topology);
  if (!work) return fail(std::move(work).error());
  Peer peer(options, *std::move(request), *std::move(spec), *std::move(topology), *std::move(work));
  return peer.run();
}

}  // namespace
}  // namespace railwave::bench

int main(int argc, char** argv) {
  CLI::App app("What plain sockets lose in the windows of every path", "plain_sockets");
  railwave::cli::ReplayOptions options;
  railwave::cli::add_replay_options(app, options);
  CLI11_PARSE(app, argc, argv);
  const auto status = railwave::bench::run(options);
  if (status) return *status;
  fmt::print(stderr, "plain_sockets: {}\n", to_string(status.error()));
  return 1;
}
