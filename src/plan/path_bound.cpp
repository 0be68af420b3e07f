#include <algorithm>
#include <array>
#include <type_traits>
#include <vector>

#include "plan/lower_bound.hpp"

namespace railwave::plan {
namespace {

/// What a pair sends on one rail in one window. A port is a (node, rail, direction); Time is
/// records, or records over weight.
template <class Time>
struct Transfer {
  std::array<std::size_t, 2> ports{};  // the sender's, the receiver's
  std::array<Time, 2> busy{};          // how long each of them is
  Time start{};
};

template <class Time>
Time alone(const Transfer<Time>& t) {
  return std::max(t.busy[0], t.busy[1]);
}

template <class Time>
Time time_of(std::int64_t records, std::int64_t weight) {
  if constexpr (std::is_integral_v<Time>) return records;
  return static_cast<Time>(records) / static_cast<Time>(weight);
}

template <class Time>
std::vector<Time> no_time(const Topology& topology) {
  return std::vector<Time>(
      2 * static_cast<std::size_t>(topology.nodes()) * static_cast<std::size_t>(topology.rails()),
      Time{});
}

template <class Time>
std::vector<Transfer<Time>> transfers_of(const DispatchPlan& plan, std::size_t window) {
  const Topology& topology = plan.topology();
  const auto port = [&](NodeId node, RailId rail, std::size_t direction) {
    return 2 * (node.index() * static_cast<std::size_t>(topology.rails()) + rail.index()) +
           direction;
  };
  std::vector<Transfer<Time>> transfers;
  for (const auto& [s, d] : plan.windows()[window]) {
    const auto loads = plan.rail_loads({s, d}, window);
    for (RailId egress(0); egress.value < topology.rails(); ++egress.value) {
      const std::int64_t load = loads[egress.index()];
      if (load == 0) continue;
      const RailId ingress = topology.ingress(s, d, egress);
      transfers.push_back({{port(s, egress, 0), port(d, ingress, 1)},
                           {time_of<Time>(load, topology.weight(s, egress)),
                            time_of<Time>(load, topology.weight(d, ingress))}});
    }
  }
  return transfers;
}

/// Serves every port's transfers in the order in which they can start.
template <class Time>
void run_free(std::vector<Transfer<Time>> transfers, std::vector<Time>& done) {
  for (auto& t : transfers) t.start = std::max(done[t.ports[0]], done[t.ports[1]]);
  std::stable_sort(transfers.begin(), transfers.end(),
                   [](const auto& a, const auto& b) { return a.start < b.start; });
  std::vector<Time> served(done.size(), Time{});
  for (const auto& t : transfers) {
    Time finish = t.start + alone(t);
    for (std::size_t end = 0; end < 2; ++end) {
      Time& until = served[t.ports[end]];
      until = std::max(until, t.start) + t.busy[end];
      finish = std::max(finish, until);
    }
    for (const std::size_t port : t.ports) done[port] = std::max(done[port], finish);
  }
}

template <class Time>
Time with_barriers(const DispatchPlan& plan) {
  Time sum{};
  for (std::size_t w = 0; w < plan.windows().size(); ++w) {
    auto load = no_time<Time>(plan.topology());
    Time longest{};
    for (const auto& t : transfers_of<Time>(plan, w)) {
      for (std::size_t end = 0; end < 2; ++end) load[t.ports[end]] += t.busy[end];
      longest = std::max(longest, alone(t));
    }
    sum += std::max(longest, *std::max_element(load.begin(), load.end()));
  }
  return sum;
}

template <class Time>
Time running_free(const DispatchPlan& plan) {
  auto done = no_time<Time>(plan.topology());
  for (std::size_t w = 0; w < plan.windows().size(); ++w) {
    run_free(transfers_of<Time>(plan, w), done);
  }
  return *std::max_element(done.begin(), done.end());
}

}  // namespace

std::int64_t barrier_path_bound_records(const DispatchPlan& plan) {
  return with_barriers<std::int64_t>(plan);
}

std::int64_t free_path_bound_records(const DispatchPlan& plan) {
  return running_free<std::int64_t>(plan);
}

double barrier_path_bound(const DispatchPlan& plan) { return with_barriers<double>(plan); }

double free_path_bound(const DispatchPlan& plan) { return running_free<double>(plan); }

}  // namespace railwave::plan
