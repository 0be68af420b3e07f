#include <algorithm>
#include <array>
#include <vector>

#include "plan/lower_bound.hpp"

namespace railwave::plan {
namespace {

/// The records of a pair on one rail. A port is a (node, rail, direction).
struct Transfer {
  std::array<std::size_t, 2> ports{};  // the sender's, the receiver's
  std::int64_t records = 0;
  std::int64_t start = 0;
};

using PortTimes = std::vector<std::int64_t>;  // [2 * N * R]

PortTimes no_time(const Topology& topology) {
  return PortTimes(
      2 * static_cast<std::size_t>(topology.nodes()) * static_cast<std::size_t>(topology.rails()),
      0);
}

std::vector<Transfer> transfers_of(const DispatchPlan& plan, std::size_t window) {
  const Topology& topology = plan.topology();
  const auto port = [&](NodeId node, RailId rail, std::size_t direction) {
    return 2 * (node.index() * static_cast<std::size_t>(topology.rails()) + rail.index()) +
           direction;
  };
  std::vector<Transfer> transfers;
  for (const auto& [s, d] : plan.windows()[window]) {
    const auto loads = plan.rail_loads({s, d}, window);
    for (RailId egress(0); egress.value < topology.rails(); ++egress.value) {
      if (loads[egress.index()] == 0) continue;
      const RailId ingress = topology.ingress(s, d, egress);
      transfers.push_back({{port(s, egress, 0), port(d, ingress, 1)}, loads[egress.index()]});
    }
  }
  return transfers;
}

/// Serves every port's transfers in the order in which they can start.
void run_free(std::vector<Transfer> transfers, PortTimes& done) {
  for (Transfer& t : transfers) t.start = std::max(done[t.ports[0]], done[t.ports[1]]);
  std::stable_sort(transfers.begin(), transfers.end(),
                   [](const Transfer& a, const Transfer& b) { return a.start < b.start; });
  PortTimes served(done.size(), 0);
  for (const Transfer& t : transfers) {
    std::int64_t finish = 0;
    for (const std::size_t port : t.ports) {
      served[port] = std::max(served[port], t.start) + t.records;
      finish = std::max(finish, served[port]);
    }
    for (const std::size_t port : t.ports) done[port] = std::max(done[port], finish);
  }
}

}  // namespace

std::int64_t barrier_path_bound_records(const DispatchPlan& plan) {
  std::int64_t sum = 0;
  for (std::size_t w = 0; w < plan.windows().size(); ++w) {
    PortTimes load = no_time(plan.topology());
    for (const Transfer& t : transfers_of(plan, w)) {
      for (const std::size_t port : t.ports) load[port] += t.records;
    }
    sum += *std::max_element(load.begin(), load.end());
  }
  return sum;
}

std::int64_t free_path_bound_records(const DispatchPlan& plan) {
  PortTimes done = no_time(plan.topology());
  for (std::size_t w = 0; w < plan.windows().size(); ++w) run_free(transfers_of(plan, w), done);
  return *std::max_element(done.begin(), done.end());
}

}  // namespace railwave::plan
