// Every edge of every anchor: just inside, on and just outside, in all combinations of the
// coordinates.
#include <algorithm>
#include <limits>

#include <gtest/gtest.h>

#include "reference.hpp"
#include "select/cost_table_file.hpp"
#include "tables.hpp"

namespace railwave::select {
namespace {

using reference::Rational;

/// A value and by which side of a neighbourhood's edge it lies.
struct Probe {
  Ratio value;
  bool inside = false;
};

Ratio ratio(const Rational& value) {
  return {numerator(value).convert_to<std::int64_t>(),
          denominator(value).convert_to<std::int64_t>()};
}

/// `value` moved by the least step whose fraction still fits into 63 bits, up (1) or down (-1).
Ratio beside(const Rational& value, int direction) {
  using Int = boost::multiprecision::cpp_int;
  const Int most = std::numeric_limits<std::int64_t>::max();
  const Int num = numerator(value);
  const Int den = denominator(value);
  const Int scale = (most - 1) / std::max(num, den);
  return ratio(Rational(num * scale + direction, den * scale));
}

std::vector<Probe> probes(const Rational& low, const Rational& centre, const Rational& high) {
  return {{beside(low, -1), false}, {ratio(low), true},       {beside(low, 1), true},
          {ratio(centre), true},    {beside(high, -1), true}, {ratio(high), true},
          {beside(high, 1), false}};
}

/// All combinations around one anchor, asked of a table with that anchor alone and of the whole.
void probe_anchor(const CostTable& table, const Anchor& anchor) {
  const Rational payload = reference::bytes(anchor.at, table.unit);
  const Rational factor = reference::exact(table.scales.payload_factor);
  const Rational radius = reference::exact(table.scales.shape_radius);
  const Rational skew = reference::exact(anchor.at.rail_skew);
  const Rational skew_reach = radius * reference::exact(table.scales.rail_skew_divisor);
  const Rational concentration = reference::exact(anchor.at.receiver_concentration);
  const Rational concentration_reach =
      radius * reference::exact(table.scales.receiver_concentration_divisor);
  CostTable alone = table;
  alone.anchors = {anchor};
  const auto alone_selector = selector_of(alone);
  const auto selector = selector_of(table);
  for (const Probe& b : probes(payload / factor, payload, payload * factor)) {
    for (const Probe& s : probes(skew - skew_reach, skew, skew + skew_reach)) {
      for (const Probe& c : probes(concentration - concentration_reach, concentration,
                                   concentration + concentration_reach)) {
        const Descriptors x = phase(b.value, s.value, c.value);
        const Cause expected =
            b.inside && s.inside && c.inside ? Cause::NearestAnchor : Cause::NoAnchor;
        ASSERT_EQ(alone_selector->select(x).cause, expected)
            << b.value.num << '/' << b.value.den << ' ' << s.value.num << '/' << s.value.den << ' '
            << c.value.num << '/' << c.value.den;
        ASSERT_TRUE(reference::View(table, x, table.cluster.rails).right(selector->select(x)));
        const auto seen = alone_selector->explain(x, 1);
        const Neighbour& n = seen.eligible.empty() ? seen.rejected.at(0) : seen.eligible.at(0);
        ASSERT_EQ(n.payload.inside, b.inside);
        ASSERT_EQ(n.rail_skew.inside, s.inside);
        ASSERT_EQ(n.receiver_concentration.inside, c.inside);
      }
    }
  }
}

TEST(Edges, OfThePapersAnchors) {
  const auto table = read_cost_table(RAILWAVE_TABLES "/paper-h800.json").value();
  for (const Anchor& anchor : table.anchors) probe_anchor(table, anchor);
}

TEST(Edges, OfAnchorsThatNoDoubleHolds) {
  CostTable table = empty_table();
  table.unit = PayloadUnit::Byte;
  table.scales = {decimal("58720256"), decimal("1.3"), decimal("6.7"), decimal("1.9"),
                  decimal("0.07")};
  table.anchors = {anchor("7340033.1", "1.3", "1.7", Path::RailOnly),
                   anchor("0.3", "2.999999", "1.1", Path::Native),
                   anchor("8000000", "1.4", "1.75", Path::PermutationOnly),
                   anchor("900000000000", "7.7", "3.3", Path::Native)};
  for (const Anchor& anchor : table.anchors) probe_anchor(table, anchor);
}

TEST(Edges, ANeighbourhoodMayBeAPoint) {
  CostTable table = empty_table();
  table.scales.payload_factor = decimal("1");
  table.scales.shape_radius = decimal("0");
  table.anchors = {anchor("0.1", "1.1", "1.2", Path::Native)};
  const auto selector = selector_of(table);
  const Ratio payload{kMiB / 2, 5};
  EXPECT_EQ(selector->select(phase(payload, {11, 10}, {6, 5})).anchor, 0);
  EXPECT_EQ(selector->select(phase({payload.num * 1000 + 1, 5000}, {11, 10}, {6, 5})).anchor, -1);
  EXPECT_EQ(selector->select(phase(payload, {11'000'001, 10'000'000}, {6, 5})).anchor, -1);
  EXPECT_EQ(selector->select(phase(payload, {11, 10}, {5'999'999, 5'000'000})).anchor, -1);
}

}  // namespace
}  // namespace railwave::select
