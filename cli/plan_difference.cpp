#include "plan_difference.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plan/plan_compare.hpp"
#include "report/table.hpp"

namespace railwave::cli {
namespace {

using report::Align;
using report::comment;
using report::Table;

constexpr std::size_t kMostRows = 64;

/// One word a node and rail: whether it is up, its weight, or where it leads.
template <class Word>
bool alike_everywhere(const Topology& a, const Topology& b, Word word) {
  for (NodeId n(0); n.value < a.nodes(); ++n.value) {
    for (RailId r(0); r.value < a.rails(); ++r.value) {
      if (word(a, n, r) != word(b, n, r)) return false;
    }
  }
  return true;
}

bool same_ranks(const Topology& a, const Topology& b) {
  for (NodeId n(0); n.value < a.nodes(); ++n.value) {
    if (a.ranks_at(n) != b.ranks_at(n)) return false;
  }
  return true;
}

bool same_homes(const Topology& a, const Topology& b) {
  for (RankId p(0); p.value < a.ranks(); ++p.value) {
    if (a.home_rail(p) != b.home_rail(p)) return false;
  }
  return true;
}

bool same_ingress(const Topology& a, const Topology& b) {
  for (NodeId s(0); s.value < a.nodes(); ++s.value) {
    const auto ingress = [s](const Topology& t, NodeId d, RailId r) { return t.ingress(s, d, r); };
    if (!alike_everywhere(a, b, ingress)) return false;
  }
  return true;
}

std::string cluster_sentence(const Topology& a, const Topology& b) {
  std::vector<std::string> in;
  if (a.nodes() != b.nodes()) in.push_back(fmt::format("nodes ({}, {})", a.nodes(), b.nodes()));
  if (a.rails() != b.rails()) in.push_back(fmt::format("rails ({}, {})", a.rails(), b.rails()));
  if (a.ranks() != b.ranks()) {
    in.push_back(fmt::format("ranks in all ({}, {})", a.ranks(), b.ranks()));
  } else if (a.nodes() == b.nodes() && !same_ranks(a, b)) {
    in.emplace_back("the ranks of their nodes");
  }
  if (a.ranks() == b.ranks() && a.rails() == b.rails() && !same_homes(a, b)) {
    in.emplace_back("home rails");
  }
  if (a.nodes() == b.nodes() && a.rails() == b.rails()) {
    const auto live = [](const Topology& t, NodeId n, RailId r) { return t.live(n, r); };
    const auto weight = [](const Topology& t, NodeId n, RailId r) { return t.weight(n, r); };
    if (!alike_everywhere(a, b, live)) in.emplace_back("rails that are down");
    if (!alike_everywhere(a, b, weight)) in.emplace_back("how fast their rails are");
    if (!same_ingress(a, b)) in.emplace_back("how their rails are wired");
  }
  return fmt::format("the clusters differ{}{} (this plan, the other)", in.empty() ? "" : " in ",
                     fmt::join(in, ", "));
}

std::string slices_text(const plan::PlanDifference& difference) {
  Table table({{"source"},
               {"destination"},
               {"other rail", "records"},
               {"loads", "", Align::Left},
               {"windows", "", Align::Left}});
  for (std::size_t i = 0; i < std::min(difference.slices.size(), kMostRows); ++i) {
    const plan::SliceDifference& slice = difference.slices[i];
    table.add_row({fmt::format("{}", slice.pair.source.value),
                   fmt::format("{}", slice.pair.destination.value),
                   fmt::format("{}", slice.elsewhere), slice.other_loads ? "differ" : "same",
                   slice.other_windows ? "differ" : "same"});
  }
  return comment(fmt::format("{} slices differ, {} records take another rail",
                             difference.slices.size(), difference.elsewhere)) +
         table.text();
}

nlohmann::ordered_json difference_json(const plan::PlanDifference& difference) {
  nlohmann::ordered_json out{
      {"same", difference == plan::PlanDifference{}}, {"other_topology", difference.other_topology},
      {"other_counts", difference.other_counts},      {"other_path", difference.other_path},
      {"other_windows", difference.other_windows},    {"records_elsewhere", difference.elsewhere}};
  out["slices"] = nlohmann::ordered_json::array();
  for (const plan::SliceDifference& slice : difference.slices) {
    out["slices"].push_back({{"source", slice.pair.source.value},
                             {"destination", slice.pair.destination.value},
                             {"records_elsewhere", slice.elsewhere},
                             {"other_loads", slice.other_loads},
                             {"other_windows", slice.other_windows}});
  }
  return out;
}

}  // namespace

DifferenceText difference_text(const plan::RecordedPlan& plan, const plan::RecordedPlan& other) {
  const auto difference = plan::compare(plan, other);
  DifferenceText out{difference != plan::PlanDifference{}, {}, difference_json(difference)};
  if (difference.other_topology) {
    out.text += comment(cluster_sentence(plan.topology, other.topology));
  }
  if (difference.other_counts) out.text += comment("the phases differ: other records per rail");
  if (difference.other_path) {
    out.text += comment(fmt::format("the paths differ: {} here, {} there", to_string(plan.path),
                                    to_string(other.path)));
  }
  if (difference.other_windows) out.text += comment("the windows differ");
  if (!difference.slices.empty()) {
    out.text += slices_text(difference);
  } else if (difference.same_traffic() && !difference.other_topology) {
    out.text += comment("every record takes the same rail in the same window");
  }
  return out;
}

}  // namespace railwave::cli
