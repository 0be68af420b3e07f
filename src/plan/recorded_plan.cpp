#include "plan/recorded_plan.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "base/fail.hpp"

namespace railwave::plan {
namespace {

std::vector<RecordedSend> sends_of(const DispatchPlan& plan, NodePair pair) {
  std::vector<RecordedSend> sends;
  for (const std::size_t window : plan.windows_of(pair)) {
    const auto loads = plan.rail_loads(pair, window);
    sends.push_back({window, {loads.begin(), loads.end()}});
  }
  return sends;
}

auto no_record(NodePair pair, const std::string& sentence) {
  return fail(
      ErrorCode::InvalidArgument, "record",
      fmt::format("slice ({}, {}): {}", pair.source.value, pair.destination.value, sentence));
}

const RecordedSlice* slice_of(const RecordedPlan& plan, NodePair pair) {
  const auto found = std::find_if(plan.slices.begin(), plan.slices.end(),
                                  [&](const RecordedSlice& slice) { return slice.pair == pair; });
  return found == plan.slices.end() ? nullptr : &*found;
}

/// The send whose share of the rail's slots holds `slot`.
std::optional<std::size_t> window_of_slot(const RecordedSlice& slice, RailId rail,
                                          std::int64_t slot) {
  for (const RecordedSend& send : slice.sends) {
    slot -= send.loads[rail.index()];
    if (slot < 0) return send.window;
  }
  return std::nullopt;
}

/// What the i-th of the sender's drivers sends goes to the receiver's driver i mod n_d.
void name_drivers(const Topology& topology, NodePair pair, RecordRoute& route) {
  const auto senders = topology.drivers(pair.source, route.egress);
  const auto receivers = topology.drivers(pair.destination, route.ingress);
  const std::size_t turn = static_cast<std::size_t>(route.slot) % senders.size();
  route.sender = senders[turn];
  route.receiver = receivers[turn % receivers.size()];
}

}  // namespace

RecordedPlan record(const DispatchPlan& plan) {
  RecordedPlan out{plan.topology(), plan.counts(), plan.path(), plan.windows()};
  for (NodeId s(0); s.value < plan.topology().nodes(); ++s.value) {
    for (NodeId d(0); d.value < plan.topology().nodes(); ++d.value) {
      if (s == d || plan.counts().slice(s, d) == 0) continue;
      const auto slice = plan.slice({s, d});
      out.slices.push_back(
          {{s, d}, sends_of(plan, {s, d}), {slice.by_home.begin(), slice.by_home.end()}});
    }
  }
  return out;
}

std::int64_t moved_records(const RecordedSlice& slice) {
  return std::accumulate(slice.segments.begin(), slice.segments.end(), std::int64_t{0},
                         [](std::int64_t sum, const Segment& segment) {
                           return sum + (segment.home == segment.rail ? 0 : segment.count);
                         });
}

Result<RecordRoute> route_of(const RecordedPlan& plan, NodePair pair, RailId home,
                             std::int64_t index) {
  const RecordedSlice* slice = slice_of(plan, pair);
  if (slice == nullptr) return no_record(pair, "the plan has no records from the one to the other");
  if (home.value < 0 || home.value >= plan.topology.rails()) {
    return no_record(pair,
                     fmt::format("rail {} is not below {}", home.value, plan.topology.rails()));
  }
  RecordRoute route;
  route.homed = plan.counts.at(pair.source, home, pair.destination);
  if (index < 0 || index >= route.homed) {
    return no_record(pair, fmt::format("record {} of home rail {}: there are {}", index, home.value,
                                       route.homed));
  }
  const Segment* at = nullptr;
  for (const Segment& segment : slice->segments) {
    if (segment.home != home) continue;
    if (segment.rail == home) route.kept += segment.count;
    if (index >= segment.first && index - segment.first < segment.count) at = &segment;
  }
  if (at == nullptr) return no_record(pair, "the plan gives this record no rail; check the plan");
  route.egress = at->rail;
  route.ingress = plan.topology.ingress(pair.source, pair.destination, at->rail);
  route.moved = at->rail != home;
  route.slot = at->slot + (index - at->first);
  const auto window = window_of_slot(*slice, at->rail, route.slot);
  if (!window) return no_record(pair, "no window sends this record; check the plan");
  route.window = *window;
  for (const RecordedSend& send : slice->sends) route.load += send.loads[at->rail.index()];
  const auto eligible = plan.topology.eligible(pair.source, pair.destination);
  route.eligible = std::binary_search(eligible.begin(), eligible.end(), home);
  name_drivers(plan.topology, pair, route);
  return route;
}

}  // namespace railwave::plan
