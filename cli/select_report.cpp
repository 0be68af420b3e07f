#include "select_report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/table.hpp"
#include "select/miss.hpp"

namespace railwave::cli {
namespace {

using select::Neighbour;

std::string ground_text(const SelectGround& ground) {
  const select::CostTable& table = ground.selector.table();
  std::string out =
      fmt::format("# cost table {}: {} anchors, {} rejected points, for {}\n",
                  std::filesystem::path(ground.file).filename().string(), table.anchors.size(),
                  table.rejected.size(), to_string(table.cluster));
  if (ground.cluster != table.cluster) {
    out += fmt::format("# forced on another cluster: {}\n", to_string(ground.cluster));
  }
  const auto reach = [&](const select::Decimal& divisor) {
    return table.scales.shape_radius.ratio().value() * divisor.ratio().value();
  };
  const std::string skew =
      ground.cluster.rails == 1
          ? "any rail skew (there is one rail)"
          : fmt::format("{:.4g} of its rail skew", reach(table.scales.rail_skew_divisor));
  out += fmt::format(
      "# policy {}: an anchor is eligible within {} times its payload, {}, {:.4g} of its receiver "
      "concentration; misses are beyond that\n",
      to_string(ground.selector.policy()), table.scales.payload_factor.text(), skew,
      reach(table.scales.receiver_concentration_divisor));
  return out;
}

std::string number(const std::optional<Ratio>& value) {
  return value ? fmt::format("{:.4f}", value->value()) : "-";
}

std::string size_text(const Ratio& bytes) {
  return fmt::format("{:.4f}", bytes.value() / (1 << 20));
}

/// By how much an anchor that is not eligible misses, beyond the edge, coordinate by coordinate.
std::string misses(const Neighbour& n, const Descriptors& phase, const select::CostTable& table) {
  const select::Anchor& anchor = table.anchors[static_cast<std::size_t>(n.anchor)];
  std::vector<std::string> out;
  if (!n.payload.inside) {
    out.push_back(fmt::format("payload by {} %", payload_miss(table, phase, anchor).beyond));
  }
  if (!n.rail_skew.inside) {
    out.push_back(fmt::format("rail skew by {}", rail_skew_miss(table, phase, anchor).beyond));
  }
  if (!n.receiver_concentration.inside) {
    out.push_back(
        fmt::format("concentration by {}", concentration_miss(table, phase, anchor).beyond));
  }
  return fmt::format("misses: {}", fmt::join(out, ", "));
}

void add_neighbour(report::Table& out, const Neighbour& n, const select::CostTable& table,
                   const std::string& verdict) {
  const select::Anchor& anchor = table.anchors[static_cast<std::size_t>(n.anchor)];
  out.add_row({std::to_string(n.anchor), std::string(to_string(anchor.path)),
               anchor.at.payload.text(), anchor.at.rail_skew.text(),
               anchor.at.receiver_concentration.text(), fmt::format("{:.4f}", n.payload.measure),
               fmt::format("{:+.4f}", n.rail_skew.measure),
               fmt::format("{:+.4f}", n.receiver_concentration.measure),
               fmt::format("{:.4f}", n.distance), verdict});
}

std::string neighbours_text(const SelectAnswer& answer, const select::CostTable& table) {
  const select::Explanation& explanation = answer.explanation;
  if (explanation.eligible.empty() && explanation.rejected.empty()) return {};
  report::Table out({{"anchor"},
                     {"path", "", report::Align::Left},
                     {"payload", std::string(to_string(table.unit))},
                     {"rail skew"},
                     {"concentr."},
                     {"payload", "phase/anchor"},
                     {"rail skew", "phase-anchor"},
                     {"concentr.", "phase-anchor"},
                     {"distance"},
                     {"verdict", "", report::Align::Left}});
  for (std::size_t i = 0; i < explanation.eligible.size(); ++i) {
    add_neighbour(out, explanation.eligible[i], table, i == 0 ? "chosen" : "eligible, not nearer");
  }
  for (const Neighbour& n : explanation.rejected) {
    add_neighbour(out, n, table, misses(n, answer.phase.descriptors, table));
  }
  return out.text();
}

std::string phase_text(const SelectAnswer& answer, const select::CostTable& table) {
  const Descriptors& x = answer.phase.descriptors;
  const auto& explanation = answer.explanation;
  return fmt::format(
      "# phase: payload {} MiB per rank, rail skew {}, receiver concentration {}\n"
      "path: {}\nwhy:  {}\n{}",
      size_text(x.payload), number(x.rail_skew), number(x.receiver_concentration),
      to_string(explanation.selection.path), explanation.sentence, neighbours_text(answer, table));
}

std::string layers_text(const std::vector<SelectAnswer>& answers, const select::CostTable& table) {
  report::Table out({{"layer"},
                     {"payload", "MiB"},
                     {"rail skew"},
                     {"concentr."},
                     {"fan-in"},
                     {"path", "", report::Align::Left},
                     {"nearest", "anchor"},
                     {"distance"},
                     {"verdict", "", report::Align::Left}});
  std::array<int, kAllPaths.size()> count{};
  for (const SelectAnswer& answer : answers) {
    const Descriptors& x = answer.phase.descriptors;
    const auto& e = answer.explanation;
    ++count[static_cast<std::size_t>(e.selection.path)];
    const Neighbour* nearest = !e.eligible.empty()   ? &e.eligible.front()
                               : !e.rejected.empty() ? &e.rejected.front()
                                                     : nullptr;
    out.add_row({std::to_string(answer.phase.layer.value_or(0)), size_text(x.payload),
                 number(x.rail_skew), number(x.receiver_concentration), std::to_string(x.fan_in),
                 std::string(to_string(e.selection.path)),
                 nearest ? std::to_string(nearest->anchor) : "-",
                 nearest ? fmt::format("{:.4f}", nearest->distance) : "-",
                 nearest == nullptr   ? e.sentence
                 : e.eligible.empty() ? misses(*nearest, x, table)
                                      : "chosen"});
  }
  std::string sum = fmt::format("# {} layers:", answers.size());
  for (const Path path : kAllPaths) {
    sum += fmt::format(" {} {}{}", count[static_cast<std::size_t>(path)], to_string(path),
                       path == kAllPaths.back() ? "\n" : ",");
  }
  return out.text() + sum;
}

}  // namespace

std::string select_text(const SelectGround& ground, const std::vector<SelectAnswer>& answers) {
  const select::CostTable& table = ground.selector.table();
  const bool single = answers.size() == 1 && !answers[0].phase.layer;
  return ground_text(ground) +
         (single ? phase_text(answers[0], table) : layers_text(answers, table));
}

}  // namespace railwave::cli
