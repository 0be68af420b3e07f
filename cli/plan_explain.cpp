#include "plan_explain.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/fail.hpp"
#include "plan_view.hpp"
#include "report/table.hpp"

namespace railwave::cli {
namespace {

/// One record as it is asked for.
struct Asked {
  NodePair pair;
  RailId home;
  std::int64_t index = 0;
};

/// Records of a home rail are numbered by the local ranks whose home it is, then token by token.
RankId owner_of(const Topology& topology, const PhaseCounts& sent, const Asked& asked) {
  const auto nodes = static_cast<std::size_t>(topology.nodes());
  std::int64_t before = 0;
  for (int local = 0; local < topology.ranks_at(asked.pair.source); ++local) {
    const RankId rank = topology.rank_at(asked.pair.source, local);
    if (topology.home_rail(rank) != asked.home) continue;
    before += sent.node_rows[rank.index() * nodes + asked.pair.destination.index()];
    if (asked.index < before) return rank;
  }
  return RankId(-1);
}

std::string reason(const plan::RecordedPlan& plan, const Asked& asked,
                   const plan::RecordRoute& route) {
  const int home = asked.home.value;
  const int d = asked.pair.destination.value;
  if (!route.eligible) {
    return fmt::format("rail {} can not be used from node {} to node {}, it is down at one end",
                       home, asked.pair.source.value, d);
  }
  if (plan.path == Path::Spray) {
    return fmt::format("path spray makes the totals of node {} even, longest chunk first",
                       asked.pair.source.value);
  }
  if (!balances(plan.path)) {
    return fmt::format("path {} keeps every record on its home rail", to_string(plan.path));
  }
  if (!route.moved && route.kept == route.homed) {
    return fmt::format("rail {} has {} records for node {}, no more than its share, and keeps them",
                       home, route.homed, d);
  }
  return fmt::format(
      "rail {} has {} records for node {} and keeps the first {}, its share; the other "
      "{} fill up the rails below theirs",
      home, route.homed, d, route.kept, route.homed - route.kept);
}

std::string window_line(const plan::RecordedPlan& plan, const Asked& asked, std::size_t window) {
  std::string out = fmt::format("window {} of {}", window, plan.windows.size());
  if (uses_waves(plan.path)) {
    const int nodes = plan.topology.nodes();
    const int shift = (asked.pair.destination.value - asked.pair.source.value + nodes) % nodes;
    out += fmt::format(", the wave in which node s sends to node s+{}", shift);
  }
  return out;
}

std::string record_text(const plan::RecordedPlan& plan, const Asked& asked,
                        const plan::RecordRoute& route, std::optional<RankId> owner) {
  const auto [s, d] = asked.pair;
  std::string out = fmt::format("record    {} of home rail {}, node {} to node {}\n", asked.index,
                                asked.home.value, s.value, d.value);
  if (owner) out += fmt::format("token of  rank {}\n", owner->value);
  out += fmt::format("rail      {}{}, slot {} of the {} that the slice has there\n",
                     route.moved ? "moves to " : "stays on ", route.egress.value, route.slot,
                     route.load);
  out += fmt::format("sent by   rank {}, local rank {} of node {}\n", route.sender.value,
                     plan.topology.local_of(route.sender), s.value);
  out += fmt::format("received  by rank {}, local rank {} of node {}, on rail {}\n",
                     route.receiver.value, plan.topology.local_of(route.receiver), d.value,
                     route.ingress.value);
  out += fmt::format("when      {}\n", window_line(plan, asked, route.window));
  return out + fmt::format("why       {}\n", reason(plan, asked, route));
}

nlohmann::ordered_json pair_json(NodePair pair) {
  return {{"source", pair.source.value}, {"destination", pair.destination.value}};
}

nlohmann::ordered_json record_json(const plan::RecordedPlan& plan, const Asked& asked,
                                   const plan::RecordRoute& route, std::optional<RankId> owner) {
  auto out = pair_json(asked.pair);
  out["home_rail"] = asked.home.value;
  out["index"] = asked.index;
  if (owner) out["token_of"] = owner->value;
  out["moved"] = route.moved;
  out["rail"] = route.egress.value;
  out["slot"] = route.slot;
  out["rail_records"] = route.load;
  out["sender"] = route.sender.value;
  out["receiver"] = route.receiver.value;
  out["receiver_rail"] = route.ingress.value;
  out["window"] = route.window;
  out["why"] = reason(plan, asked, route);
  return out;
}

Result<PlanExplanation> explain_record(const plan::RecordedPlan& plan, const Asked& asked,
                                       const PhaseCounts* sent) {
  const auto route = route_of(plan, asked.pair, asked.home, asked.index);
  if (!route) return fail(route.error());
  std::optional<RankId> owner;
  if (sent != nullptr) owner = owner_of(plan.topology, *sent, asked);
  return PlanExplanation{record_text(plan, asked, *route, owner),
                         record_json(plan, asked, *route, owner)};
}

nlohmann::ordered_json slice_json(const plan::RecordedSlice& slice, std::optional<RailId> home) {
  auto out = pair_json(slice.pair);
  if (home) out["home_rail"] = home->value;
  out["segments"] = nlohmann::ordered_json::array();
  for (const plan::Segment& s : slice.segments) {
    if (home && s.home != *home) continue;
    out["segments"].push_back({{"home_rail", s.home.value},
                               {"first", s.first},
                               {"records", s.count},
                               {"rail", s.rail.value},
                               {"slot", s.slot}});
  }
  out["sends"] = nlohmann::ordered_json::array();
  for (const plan::RecordedSend& send : slice.sends) {
    out["sends"].push_back({{"window", send.window}, {"rails", send.loads}});
  }
  return out;
}

}  // namespace

Result<PlanExplanation> explain(const plan::RecordedPlan& plan,
                                const std::vector<std::int64_t>& numbers, const PhaseCounts* sent) {
  const auto wrong = [](const std::string& sentence) {
    return fail(ErrorCode::InvalidArgument, "--explain", sentence);
  };
  if (numbers.size() < 2 || numbers.size() > 4) {
    return wrong("expected SOURCE,DESTINATION[,RAIL[,INDEX]]");
  }
  for (std::size_t i = 0; i < std::min<std::size_t>(3, numbers.size()); ++i) {
    const int most = i < 2 ? plan.topology.nodes() : plan.topology.rails();
    if (numbers[i] >= 0 && numbers[i] < most) continue;
    return wrong(
        fmt::format("{} {}, expected 0 to {}", i < 2 ? "node" : "rail", numbers[i], most - 1));
  }
  const auto id = [&](std::size_t i) { return static_cast<std::int32_t>(numbers[i]); };
  const NodePair pair{NodeId(id(0)), NodeId(id(1))};
  if (numbers.size() == 4) {
    return explain_record(plan, {pair, RailId(id(2)), numbers[3]}, sent);
  }
  const auto slice = std::find_if(plan.slices.begin(), plan.slices.end(),
                                  [&](const plan::RecordedSlice& one) { return one.pair == pair; });
  if (slice == plan.slices.end()) {
    return wrong(fmt::format("node {} has no records for node {}", id(0), id(1)));
  }
  const auto home = numbers.size() == 3 ? std::optional(RailId(id(2))) : std::nullopt;
  return PlanExplanation{segments_table(*slice, home), slice_json(*slice, home)};
}

}  // namespace railwave::cli
