#include "plan_view.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/units.hpp"
#include "report/table.hpp"

namespace railwave::cli {
namespace {

using report::Align;
using report::comment;
using report::Table;

constexpr std::size_t kMostPairs = 16;  ///< of a window on one line
constexpr std::size_t kMostRows = 64;   ///< of a table
constexpr double kBarWidth = 40;

std::string pairs_text(const Window& window) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < std::min(window.size(), kMostPairs); ++i) {
    words.push_back(fmt::format("{}>{}", window[i].source.value, window[i].destination.value));
  }
  if (window.size() > kMostPairs) {
    words.push_back(fmt::format("and {} more", window.size() - kMostPairs));
  }
  return fmt::format("{}", fmt::join(words, " "));
}

/// "=" what stays, "-" what leaves for another rail, "+" what comes from others.
std::string bar(std::int64_t before, std::int64_t after, std::int64_t longest) {
  const auto length = [&](std::int64_t records) {
    if (longest == 0) return std::size_t{0};
    return static_cast<std::size_t>(
        kBarWidth * static_cast<double>(records) / static_cast<double>(longest) + 0.5);
  };
  const std::size_t kept = length(std::min(before, after));
  return std::string(kept, '=') + std::string(length(before) - kept, '-') +
         std::string(length(after) - kept, '+');
}

std::string bound_line(const PhaseSource& source, const char* name, double records, double least) {
  return comment(fmt::format("  {:<28} {:>10.1f} {:>12} {:>8.3f}", name, records,
                             format_seconds(source.seconds(records)),
                             least > 0 ? records / least : 0));
}

bool has_uneven_rails(const Topology& topology) {
  for (NodeId n(0); n.value < topology.nodes(); ++n.value) {
    for (RailId r(0); r.value < topology.rails(); ++r.value) {
      if (topology.weight(n, r) != 1) return true;
    }
  }
  return false;
}

std::string share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? "0 %"
                    : fmt::format("{:.1f} %",
                                  100 * static_cast<double>(part) / static_cast<double>(whole));
}

std::int64_t moved_in_all(const plan::RecordedPlan& plan) {
  return std::transform_reduce(plan.slices.begin(), plan.slices.end(), std::int64_t{0},
                               std::plus<>{}, plan::moved_records);
}

}  // namespace

std::vector<WindowFacts> window_facts(const plan::RecordedPlan& plan) {
  const Topology& topology = plan.topology;
  const auto rails = static_cast<std::size_t>(topology.rails());
  std::vector<WindowFacts> facts(plan.windows.size());
  for (std::size_t w = 0; w < facts.size(); ++w) {
    std::vector<int> senders(static_cast<std::size_t>(topology.nodes()), 0);
    for (const NodePair pair : plan.windows[w]) ++senders[pair.destination.index()];
    facts[w].fan_in = *std::max_element(senders.begin(), senders.end());
  }
  std::vector<std::vector<std::int64_t>> ports(
      facts.size(),
      std::vector<std::int64_t>(2 * rails * static_cast<std::size_t>(topology.nodes()), 0));
  for (const plan::RecordedSlice& slice : plan.slices) {
    const auto [s, d] = slice.pair;
    for (const plan::RecordedSend& send : slice.sends) {
      WindowFacts& window = facts[send.window];
      for (RailId r(0); r.value < topology.rails(); ++r.value) {
        const std::int64_t records = send.loads[r.index()];
        window.records += records;
        std::int64_t& out = ports[send.window][2 * (s.index() * rails + r.index())];
        std::int64_t& in =
            ports[send.window][2 * (d.index() * rails + topology.ingress(s, d, r).index()) + 1];
        out += records;
        in += records;
        window.busiest = std::max({window.busiest, out, in});
      }
    }
  }
  return facts;
}

std::string phase_lines(const PhaseSource& source, const PhaseLayer& layer,
                        const plan::DispatchPlan& plan) {
  const plan::RecordedPlan written = record(plan);
  const PhaseBounds bounds = bounds_of(plan);
  const std::int64_t total = plan.counts().total();
  const auto& ranks = source.spec.ranks_per_node;
  std::string out = comment(fmt::format("plan     {}, layer {} of {}, {}", to_string(plan.path()),
                                        layer.layer, source.phases.layers(), source.phases.name()));
  out += comment(fmt::format("cluster  {} nodes, {} ranks, {} rails of {}", ranks.size(),
                             source.topology().ranks(), source.topology().rails(),
                             format_rate(source.spec.rate)));
  out += comment(
      fmt::format("records  {} of {} leave their node, {} of them ({}) by another rail "
                  "than their home rail; {:.1f} % of all rows stay in their node",
                  total, format_size(source.phases.row_bytes()), moved_in_all(written),
                  share(moved_in_all(written), total), 100 * intra_node_share(source, layer)));
  out += comment(fmt::format("bounds   {:<21} {:>10} {:>12} {:>8}", "",
                             has_uneven_rails(source.topology()) ? "rec/weight" : "records", "time",
                             "x LB1"));
  out += bound_line(source, "LB1, whatever the plan", bounds.least, bounds.least);
  out += bound_line(source, "this plan, with barriers", bounds.barrier, bounds.least);
  out += bound_line(source, "this plan, free-running", bounds.free, bounds.least);
  return out;
}

std::string windows_table(const plan::RecordedPlan& plan) {
  Table table({{"window"},
               {"records"},
               {"busiest rail", "records"},
               {"fan-in"},
               {"sends", "source>destination", Align::Left}});
  const auto facts = window_facts(plan);
  for (std::size_t w = 0; w < std::min(facts.size(), kMostRows); ++w) {
    table.add_row({fmt::format("{}", w), fmt::format("{}", facts[w].records),
                   fmt::format("{}", facts[w].busiest), fmt::format("{}", facts[w].fan_in),
                   pairs_text(plan.windows[w])});
  }
  std::string out = table.text();
  if (facts.size() > kMostRows)
    out += comment(fmt::format("and {} more", facts.size() - kMostRows));
  return out;
}

std::string rails_table(const plan::RecordedPlan& plan) {
  Table table({{"node"},
               {"rail"},
               {"home", "sent"},
               {"plan", "sent"},
               {"home", "received"},
               {"plan", "received"},
               {"sent", "= stays, - moves away, + moves here", Align::Left}});
  const RailLoads before = home_loads(plan);
  const RailLoads after = planned_loads(plan);
  std::int64_t longest = 0;
  for (const auto& loads : {before.sent, after.sent}) {
    for (const std::int64_t load : loads) longest = std::max(longest, load);
  }
  const auto rails = static_cast<std::size_t>(plan.topology.rails());
  for (std::size_t i = 0; i < std::min(before.sent.size(), kMostRows); ++i) {
    const bool live = plan.topology.live(NodeId(i / rails), RailId(i % rails));
    table.add_row({fmt::format("{}", i / rails), fmt::format("{}", i % rails),
                   fmt::format("{}", before.sent[i]), fmt::format("{}", after.sent[i]),
                   fmt::format("{}", before.received[i]), fmt::format("{}", after.received[i]),
                   bar(before.sent[i], after.sent[i], longest) + (live ? "" : " (down)")});
  }
  std::string out = table.text();
  if (before.sent.size() > kMostRows) {
    out += comment(fmt::format("and {} more; --json has all", before.sent.size() - kMostRows));
  }
  return out;
}

std::string segments_table(const plan::RecordedSlice& slice, std::optional<RailId> home) {
  Table table({{"home rail"}, {"records"}, {"rail"}, {"slots"}, {"", "", Align::Left}});
  for (const plan::Segment& s : slice.segments) {
    if (home && s.home != *home) continue;
    table.add_row(
        {fmt::format("{}", s.home.value), fmt::format("{}-{}", s.first, s.first + s.count - 1),
         fmt::format("{}", s.rail.value), fmt::format("{}-{}", s.slot, s.slot + s.count - 1),
         s.home == s.rail ? "" : "moved"});
  }
  std::string out = table.text();
  for (const plan::RecordedSend& send : slice.sends) {
    out += comment(
        fmt::format("window {}: records by rail {}", send.window, fmt::join(send.loads, " ")));
  }
  return out;
}

}  // namespace railwave::cli
