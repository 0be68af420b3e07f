#include "answers.hpp"

#include <cstdint>

#include "tables.hpp"
#include "workload/integer_rng.hpp"

namespace railwave::select {
namespace {

using workload::IntegerRng;

/// From 0 to below - 1.
std::int64_t draw(IntegerRng& rng, std::int64_t below) {
  return static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(below)));
}

Decimal thousandths(std::int64_t value) {
  return decimal(std::to_string(value / 1000) + "." +
                 std::to_string(1000 + value % 1000).substr(1));
}

CostTable crowded(IntegerRng& rng) {
  CostTable table = empty_table();
  for (int i = 0; i < 200; ++i) {
    table.anchors.push_back(
        {{thousandths(7000 + 10 * i + draw(rng, 10)), thousandths(1000 + draw(rng, 300)),
          thousandths(1000 + draw(rng, 80))},
         kAllPaths[static_cast<std::size_t>(draw(rng, 4))],
         {},
         {}});
  }
  return table;
}

}  // namespace

std::string answers() {
  IntegerRng rng(1);
  std::string out;
  for (int t = 0; t < 10; ++t) {
    const auto selector = selector_of(crowded(rng));
    for (int i = 0; i < 1000; ++i) {
      // Every third phase is an anchor's own point or lies on one of its edges.
      const Anchor& at = selector->table().anchors[static_cast<std::size_t>(draw(rng, 200))];
      const bool near = i % 3 == 0;
      const Ratio anchors_own = at.at.payload.ratio();
      const std::int64_t scale = 4 + draw(rng, 2);  // 4/4 or 5/4 of the anchor's payload
      const Descriptors x =
          phase(near ? reduced(anchors_own.num * kMiB / 4 * scale, anchors_own.den)
                     : reduced(5 * kMiB * 1000 + draw(rng, std::int64_t{5} << 30), 1000),
                near ? reduced(at.at.rail_skew.millionths() + 140'000 * draw(rng, 2), 1'000'000)
                     : reduced(1'000'003 + draw(rng, 300'000), 1'000'003),
                near ? at.at.receiver_concentration.ratio()
                     : reduced(1'000'003 + draw(rng, 80'000), 1'000'003));
      const Selection answer = selector->select(x);
      out += std::to_string(answer.anchor) + ' ' + std::string(to_string(answer.path)) + '\n';
    }
  }
  return out;
}

}  // namespace railwave::select
