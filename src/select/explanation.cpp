#include "explanation.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "distance.hpp"
#include "select/miss.hpp"

namespace railwave::select {
namespace {

double real(std::int64_t coordinate) { return std::ldexp(static_cast<double>(coordinate), -32); }

double real(const Decimal& value) {
  return static_cast<double>(value.millionths()) / static_cast<double>(Decimal::kUnit);
}

}  // namespace

/// A neighbour and its exact squared distance's place in the order.
struct Explainer::Seen {
  Neighbour neighbour;
  UWide square = 0;  // in units of 2^-64, of rounded coordinates
};

Explainer::Seen Explainer::see(int anchor) const {
  const Anchor& seen = table_.anchors[static_cast<std::size_t>(anchor)];
  const Neighbourhood& edges = index_.neighbourhood(anchor);
  const auto x = Distances(table_, phase_, one_rail_).coordinates(seen);
  const double radius = real(table_.scales.shape_radius);
  const double bytes = real(seen.at.payload) * static_cast<double>(bytes_of(table_.unit));
  Seen out;
  Neighbour& n = out.neighbour;
  n.anchor = anchor;
  n.payload = {real(x[0]), std::log2(real(table_.scales.payload_factor)),
               phase_.payload.value() / bytes, edges.has_payload(phase_)};
  n.rail_skew = {real(x[1]), radius, phase_.rail_skew->value() - real(seen.at.rail_skew),
                 edges.has_rail_skew(phase_)};
  n.receiver_concentration = {
      real(x[2]), radius,
      phase_.receiver_concentration->value() - real(seen.at.receiver_concentration),
      edges.has_receiver_concentration(phase_)};
  for (const std::int64_t coordinate : x) {
    // Beyond 2^61 squares would no longer add up; so far away the order does not matter.
    const auto size = static_cast<UWide>(std::min(coordinate, std::int64_t{1} << 61));
    out.square += size * size;
  }
  n.distance = std::hypot(real(x[0]), real(x[1]), real(x[2]));
  return out;
}

Explanation Explainer::explain(const Selection& selection, int most_rejected) const {
  std::vector<Seen> all;
  for (std::size_t i = 0; i < table_.anchors.size(); ++i) all.push_back(see(static_cast<int>(i)));
  std::stable_sort(all.begin(), all.end(),
                   [](const Seen& a, const Seen& b) { return a.square < b.square; });
  Explanation out{selection, {}, {}, {}};
  for (const Seen& seen : all) {
    if (seen.neighbour.eligible()) {
      out.eligible.push_back(seen.neighbour);
    } else if (std::cmp_less(out.rejected.size(), most_rejected)) {
      out.rejected.push_back(seen.neighbour);
    }
  }
  // Rounded coordinates may order near ties otherwise than the selection, which is exact.
  const auto won = std::find_if(out.eligible.begin(), out.eligible.end(),
                                [&](const Neighbour& n) { return n.anchor == selection.anchor; });
  if (won != out.eligible.end()) std::rotate(out.eligible.begin(), won, won + 1);
  out.sentence = sentence(out);
  return out;
}

std::string Explainer::describe(const Neighbour& neighbour) const {
  const Anchor& anchor = table_.anchors[static_cast<std::size_t>(neighbour.anchor)];
  return fmt::format("anchor {} ({} {}, rail skew {}, receiver concentration {}: {})",
                     neighbour.anchor, anchor.at.payload.text(), to_string(table_.unit),
                     anchor.at.rail_skew.text(), anchor.at.receiver_concentration.text(),
                     to_string(anchor.path));
}

std::string Explainer::misses(const Neighbour& n) const {
  const Anchor& anchor = table_.anchors[static_cast<std::size_t>(n.anchor)];
  std::vector<std::string> out;
  if (!n.payload.inside) {
    const Miss miss = payload_miss(table_, phase_, anchor);
    out.push_back(fmt::format("payload is {} times {}, at most {} times is eligible", miss.off,
                              n.payload.measure >= 1 ? "larger" : "smaller", miss.allowed));
  }
  const auto shape = [&](const char* name, const Miss& miss) {
    out.push_back(
        fmt::format("{} is off by {}, at most {} is eligible", name, miss.off, miss.allowed));
  };
  if (!n.rail_skew.inside) shape("rail skew", rail_skew_miss(table_, phase_, anchor));
  if (!n.receiver_concentration.inside) {
    shape("receiver concentration", concentration_miss(table_, phase_, anchor));
  }
  return fmt::format("{}", fmt::join(out, "; "));
}

std::string Explainer::sentence(const Explanation& explanation) const {
  if (!explanation.eligible.empty()) {
    const Neighbour& won = explanation.eligible.front();
    return fmt::format("{} is the nearest of {} eligible, at distance {:.4f}", describe(won),
                       explanation.eligible.size(), won.distance);
  }
  if (explanation.rejected.empty()) {
    return table_.anchors.empty() ? "the table has no anchor, so joint"
                                  : "no anchor is eligible, so joint";
  }
  return fmt::format("no anchor is eligible, so joint; the nearest, {}, is out of reach: {}",
                     describe(explanation.rejected.front()), misses(explanation.rejected.front()));
}

Explanation explain_no_remote_bytes() {
  return {{Path::Native, Cause::NoRemoteBytes, -1}, "no byte leaves a node, so native", {}, {}};
}

}  // namespace railwave::select
