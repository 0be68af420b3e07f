#include "plan_view.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

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
        const auto over = [](std::int64_t load, std::int64_t weight) {
          return static_cast<double>(load) / static_cast<double>(weight);
        };
        window.longest = std::max({window.longest, over(out, topology.weight(s, r)),
                                   over(in, topology.weight(d, topology.ingress(s, d, r))),
                                   over(records, topology.weight(slice.pair, r))});
      }
    }
  }
  return facts;
}

std::string windows_table(const plan::RecordedPlan& plan) {
  const bool weighted = has_weights(plan.topology);
  std::vector<report::Column> columns{{"window"}, {"records"}, {"busiest rail", "records"}};
  if (weighted) columns.push_back({"longest", "rec/weight"});
  columns.push_back({"fan-in"});
  columns.push_back({"sends", "source>destination", Align::Left});
  Table table(columns);
  const auto facts = window_facts(plan);
  for (std::size_t w = 0; w < std::min(facts.size(), kMostRows); ++w) {
    std::vector<std::string> row{fmt::format("{}", w), fmt::format("{}", facts[w].records),
                                 fmt::format("{}", facts[w].busiest)};
    if (weighted) row.push_back(fmt::format("{:.1f}", facts[w].longest));
    row.push_back(fmt::format("{}", facts[w].fan_in));
    row.push_back(pairs_text(plan.windows[w]));
    table.add_row(std::move(row));
  }
  std::string out = table.text();
  if (facts.size() > kMostRows)
    out += comment(fmt::format("and {} more", facts.size() - kMostRows));
  return out;
}

std::string rails_table(const plan::RecordedPlan& plan) {
  const bool weighted = has_weights(plan.topology);
  std::vector<report::Column> columns{{"node"}, {"rail"}};
  if (weighted) columns.push_back({"weight"});
  columns.insert(columns.end(), {{"home", "sent"},
                                 {"plan", "sent"},
                                 {"home", "received"},
                                 {"plan", "received"},
                                 {"sent", "= stays, - moves away, + moves here", Align::Left}});
  Table table(columns);
  const RailLoads before = home_loads(plan);
  const RailLoads after = planned_loads(plan);
  std::int64_t longest = 0;
  for (const auto& loads : {before.sent, after.sent}) {
    for (const std::int64_t load : loads) longest = std::max(longest, load);
  }
  const auto rails = static_cast<std::size_t>(plan.topology.rails());
  for (std::size_t i = 0; i < std::min(before.sent.size(), kMostRows); ++i) {
    const NodeId node(i / rails);
    const RailId rail(i % rails);
    std::vector<std::string> row{fmt::format("{}", node.value), fmt::format("{}", rail.value)};
    if (weighted) row.push_back(fmt::format("{}", plan.topology.weight(node, rail)));
    for (const auto records :
         {before.sent[i], after.sent[i], before.received[i], after.received[i]}) {
      row.push_back(fmt::format("{}", records));
    }
    row.push_back(bar(before.sent[i], after.sent[i], longest) +
                  (plan.topology.live(node, rail) ? "" : " (down)"));
    table.add_row(std::move(row));
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
