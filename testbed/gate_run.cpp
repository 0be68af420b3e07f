#include "gate_run.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fail.hpp"
#include "gate_connection.hpp"

namespace railwave::testbed {
namespace {

using Seconds = std::chrono::duration<double>;
constexpr std::int64_t kLoneBytes = 256 * 1024;

/// What a receiver saw after the warm-up: bytes after its first read, and when.
struct Arrival {
  std::int64_t bytes = 0;
  std::int64_t first = 0;  ///< clock ticks
  std::int64_t last = 0;
};

/// Written by the nodes' processes, read here.
class SharedArrivals {
 public:
  explicit SharedArrivals(std::size_t count)
      : size_(count * sizeof(Arrival)),
        memory_(::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
  }
  SharedArrivals(const SharedArrivals&) = delete;
  SharedArrivals& operator=(const SharedArrivals&) = delete;
  ~SharedArrivals() {
    if (valid()) ::munmap(memory_, size_);
  }
  [[nodiscard]] bool valid() const { return memory_ != MAP_FAILED; }
  Arrival& operator[](std::size_t i) const { return static_cast<Arrival*>(memory_)[i]; }

 private:
  std::size_t size_;
  void* memory_;
};

struct Schedule {
  Deadline warm;
  Deadline end;
};

/// Long enough for a few dozen frames on the slowest rail.
Schedule schedule_for(const ClusterSpec& spec, std::span<const GateFlow> flows) {
  double frame = 0;
  for (const auto& flow : flows) {
    frame = std::max(frame, 8.0 * spec.mtu / static_cast<double>(nominal_rate(spec, flow)));
  }
  const auto measured =
      std::chrono::duration_cast<Clock::duration>(Seconds(std::clamp(50 * frame, 1.0, 20.0)));
  const auto warm = Clock::now() + measured * 3 / 10;
  return {warm, warm + measured};
}

/// On every bridge each node sends to the next one.
std::vector<GateFlow> ring_flows(const ClusterSpec& spec) {
  std::vector<GateFlow> flows;
  for (int bridge = 0; bridge < spec.rails; ++bridge) {
    std::vector<std::pair<NodeId, RailId>> plugs;
    for (int n = 0; n < spec.nodes(); ++n) {
      for (int r = 0; r < spec.rails; ++r) {
        const NodeId node(n);
        const RailId rail(r);
        if (spec.has_rail(node, rail) && spec.bridge_of(node, rail) == bridge) {
          plugs.emplace_back(node, rail);
        }
      }
    }
    for (std::size_t i = 0; plugs.size() > 1 && i < plugs.size(); ++i) {
      const auto& next = plugs[(i + 1) % plugs.size()];
      flows.push_back({plugs[i].first, plugs[i].second, next.first, next.second, 0});
    }
  }
  return flows;
}

void receive(int socket, const Schedule& schedule, Arrival& arrival) {
  static thread_local std::array<char, 262144> piece;
  const auto count = ::recv(socket, piece.data(), piece.size(), 0);
  const auto now = Clock::now();
  if (count <= 0 || now < schedule.warm) return;
  arrival.last = now.time_since_epoch().count();
  if (arrival.first == 0) {
    arrival.first = arrival.last;
  } else {
    arrival.bytes += count;
  }
}

void send_more(int socket) {
  static const std::array<char, 65536> kZeros{};
  (void)::send(socket, kZeros.data(), kZeros.size(), MSG_NOSIGNAL);
}

/// One node: sends and receives on all its rails at once until the end.
void node_traffic(NodeId node, std::span<const GateFlow> flows,
                  std::span<const GateConnection> connections, const Schedule& schedule,
                  const SharedArrivals& arrivals) {
  std::vector<pollfd> watched;
  std::vector<std::size_t> flow_of;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    if (flows[i].source == node) watched.push_back({connections[i].sender.get(), POLLOUT, 0});
    if (flows[i].source == node) flow_of.push_back(i);
    if (flows[i].destination == node) watched.push_back({connections[i].receiver.get(), POLLIN, 0});
    if (flows[i].destination == node) flow_of.push_back(i);
  }
  while (Clock::now() < schedule.end) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(schedule.end - Clock::now());
    (void)::poll(watched.data(), watched.size(), std::max(0, static_cast<int>(left.count())));
    for (std::size_t w = 0; w < watched.size(); ++w) {
      if ((watched[w].revents & POLLOUT) != 0) send_more(watched[w].fd);
      if ((watched[w].revents & POLLIN) != 0) {
        receive(watched[w].fd, schedule, arrivals[flow_of[w]]);
      }
    }
  }
}

Status run_nodes(const ClusterSpec& spec, std::span<const GateFlow> flows,
                 std::span<const GateConnection> connections, const SharedArrivals& arrivals) {
  const auto schedule = schedule_for(spec, flows);
  std::vector<pid_t> nodes;
  for (int n = 0; n < spec.nodes(); ++n) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      node_traffic(NodeId(n), flows, connections, schedule, arrivals);
      ::_exit(0);
    }
    if (pid > 0) nodes.push_back(pid);
  }
  for (const pid_t pid : nodes) {
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  if (nodes.size() == static_cast<std::size_t>(spec.nodes())) return {};
  return fail(system_failure("start the gate's processes", EAGAIN));
}

Status measure_all_at_once(Network& network, const ClusterSpec& spec, GateResult& result) {
  std::vector<GateConnection> connections;
  for (const auto& flow : result.flows) {
    auto connection = connect_along(network, spec, flow);
    if (!connection) return fail(connection.error());
    connections.push_back(*std::move(connection));
  }
  const SharedArrivals arrivals(result.flows.size());
  if (!arrivals.valid()) return fail(system_failure("reserve memory for the gate", errno));
  RAILWAVE_TRY(run_nodes(spec, result.flows, connections, arrivals));
  result.lowest_share = 1e9;
  for (std::size_t i = 0; i < result.flows.size(); ++i) {
    auto& flow = result.flows[i];
    const auto took = Seconds(Clock::duration(arrivals[i].last - arrivals[i].first)).count();
    const auto bits = 8.0 * static_cast<double>(arrivals[i].bytes);
    flow.share = took > 0 ? bits / took / static_cast<double>(nominal_rate(spec, flow)) : 0;
    result.lowest_share = std::min(result.lowest_share, flow.share);
  }
  for (auto& connection : connections) abort_connection(connection);
  return {};
}

/// One bridge after the other, as many as a few seconds allow.
Status measure_alone(Network& network, const ClusterSpec& spec, GateResult& result) {
  const auto until = Clock::now() + std::chrono::seconds(3);
  result.lone_time = 1e9;
  int last_bridge = -1;
  for (const auto& flow : result.flows) {
    const int bridge = spec.bridge_of(flow.source, flow.egress);
    if (bridge == last_bridge || (last_bridge >= 0 && Clock::now() > until)) continue;
    last_bridge = bridge;
    auto connection = connect_along(network, spec, flow);
    if (!connection) return fail(connection.error());
    const double rate = static_cast<double>(nominal_rate(spec, flow)) / 8;
    const Seconds least(static_cast<double>(kLoneBytes) / rate);
    const auto deadline = Clock::now() + std::chrono::seconds(10) +
                          std::chrono::duration_cast<Clock::duration>(4 * least);
    const auto took = time_lone_transfer(*connection, kLoneBytes, deadline);
    abort_connection(*connection);
    if (!took) return fail(took.error());
    const auto bytes = std::max<std::int64_t>(kLoneBytes - spec.burst, 1);
    result.lone_time = std::min(result.lone_time, *took * rate / static_cast<double>(bytes));
  }
  return {};
}

}  // namespace

Result<GateResult> run_gate(Network& network, const ClusterSpec& spec) {
  GateResult result;
  result.flows = ring_flows(spec);
  if (result.flows.empty()) {
    return fail(ErrorCode::InvalidArgument, "gate", "no rail connects two nodes");
  }
  const auto before = network.counters();
  if (!before) return fail(before.error());
  RAILWAVE_TRY(measure_all_at_once(network, spec, result));
  RAILWAVE_TRY(measure_alone(network, spec, result));
  const auto after = network.counters();
  if (!after) return fail(after.error());
  for (const auto count : since(*before, *after).tcp_retransmissions) {
    result.retransmissions += count;
  }
  result.machine_is_limit = result.lowest_share < kLeastShare;
  result.shaping_works = result.lone_time >= kLeastLoneTime;
  return result;
}

}  // namespace railwave::testbed
