// The index and its exact tie rule against the definition, anchor by anchor.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "reference.hpp"
#include "tables.hpp"

namespace railwave::select {
namespace {

std::int64_t draw(std::int64_t least, std::int64_t most) {
  return *rc::gen::inRange<std::int64_t>(least, most + 1);
}

/// `hundredths` / 100 as a file would say it.
Decimal hundredths(std::int64_t value) {
  const std::string places = std::to_string(100 + value % 100).substr(1);
  return decimal(std::to_string(value / 100) + "." + places);
}

/// Anchors on a coarse grid, so that edges, ties and several eligible anchors are frequent.
CostTable draw_table() {
  CostTable table = empty_table(static_cast<int>(draw(1, 9)));
  if (draw(0, 1) == 0) table.unit = PayloadUnit::Byte;
  table.scales.shape_radius = hundredths(draw(0, 1) == 0 ? 2 : draw(0, 100));
  table.scales.payload_factor = hundredths(draw(0, 1) == 0 ? 125 : draw(100, 400));
  const std::int64_t spread = draw(1, 60);
  const auto count = draw(0, 40);
  for (std::int64_t i = 0; i < count; ++i) {
    Anchor next{{hundredths(draw(1, 10) * draw(1, 10) * 100), hundredths(100 + draw(0, spread)),
                 hundredths(100 + draw(0, spread))},
                kAllPaths[static_cast<std::size_t>(draw(0, 3))],
                {},
                {}};
    const bool taken = std::any_of(table.anchors.begin(), table.anchors.end(),
                                   [&](const Anchor& other) { return other.at == next.at; });
    if (!taken) table.anchors.push_back(std::move(next));
  }
  return table;
}

/// Close to an anchor or anywhere; on the grid, where edges and ties are, or beside it.
Descriptors draw_phase(const CostTable& table) {
  if (draw(0, 20) == 0) return {};
  const std::int64_t fine = draw(0, 1) == 0 ? 1 : draw(1, 1'000'003);
  const auto shape = [&](std::int64_t hundredths) {
    return reduced(hundredths * fine + draw(0, 1), 100 * fine);
  };
  if (table.anchors.empty() || draw(0, 2) == 0) {
    return phase(reduced(draw(1, 12) * draw(1, 12) * bytes_of(table.unit), draw(1, 8)),
                 shape(100 + draw(0, 70)), shape(100 + draw(0, 70)));
  }
  const auto last = static_cast<std::int64_t>(table.anchors.size()) - 1;
  const TrafficPoint& at = table.anchors[static_cast<std::size_t>(draw(0, last))].at;
  const Ratio payload = at.payload.ratio();
  const auto near = [&](const Decimal& value) {
    return shape(std::max<std::int64_t>(value.millionths() / 10'000 + draw(0, 8) - 4, 100));
  };
  return phase(reduced(payload.num * bytes_of(table.unit) * draw(4, 5), payload.den * draw(4, 5)),
               near(at.rail_skew), near(at.receiver_concentration));
}

RC_GTEST_PROP(SelectorProperties, TheAnswerIsTheDefinitions, ()) {
  const CostTable table = draw_table();
  const auto selector = selector_of(table);
  for (int i = 0; i < 5; ++i) {
    const Descriptors x = draw_phase(table);
    const Selection answer = selector->select(x);
    RC_ASSERT(reference::View(table, x, table.cluster.rails).right(answer));
    const Explanation explained = selector->explain(x, 1000);
    RC_ASSERT(explained.selection == answer);
    if (answer.cause == Cause::NoRemoteBytes) continue;
    RC_ASSERT(explained.eligible.size() + explained.rejected.size() == table.anchors.size());
    if (answer.anchor >= 0) RC_ASSERT(explained.eligible.at(0).anchor == answer.anchor);
  }
}

RC_GTEST_PROP(SelectorProperties, ExtremeFractionsDoNotOverflow, ()) {
  const CostTable table = draw_table();
  const auto selector = selector_of(table);
  const auto wide = [](std::int64_t least) {
    const std::int64_t den = std::int64_t{1} << draw(0, 62);
    const std::int64_t num = (std::int64_t{1} << draw(0, 62)) - 1 + draw(0, 2);
    return num < least * den ? reduced(den, den) : reduced(std::max<std::int64_t>(num, 1), den);
  };
  const Descriptors x = phase(wide(0), wide(1), wide(1));
  RC_ASSERT(reference::View(table, x, table.cluster.rails).right(selector->select(x)));
  const Explanation explained = selector->explain(x, 1000);
  RC_ASSERT(explained.eligible.size() + explained.rejected.size() == table.anchors.size());
}

}  // namespace
}  // namespace railwave::select
