// How long a selection takes with 1,000 anchors in one payload octave (7 to 14 MiB).
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "select/selector.hpp"
#include "workload/integer_rng.hpp"

namespace railwave::select {
namespace {

using workload::IntegerRng;

constexpr int kAnchors = 1000;
constexpr int kPhases = 1024;
constexpr std::int64_t kMiB = 1 << 20;

/// From 0 to below - 1.
std::int64_t draw(IntegerRng& rng, std::int64_t below) {
  return static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(below)));
}

Decimal thousandths(std::int64_t value) {
  return Decimal::parse(std::to_string(value / 1000) + "." +
                        std::to_string(1000 + value % 1000).substr(1))
      .value();
}

/// Anchors whose rail skews spread over 1 to 1 + skew / 1000, concentrations likewise.
CostTable octave(IntegerRng& rng, std::int64_t skew, std::int64_t concentration) {
  CostTable table;
  table.cluster = {{8, 8, 8, 8}, 8};
  table.scales = {thousandths(56'000), thousandths(1'250), thousandths(7'000), thousandths(2'000),
                  thousandths(20)};
  for (int i = 0; i < kAnchors; ++i) {
    table.anchors.push_back({{thousandths(7'000 + 7 * i), thousandths(1'000 + draw(rng, skew)),
                              thousandths(1'000 + draw(rng, concentration))},
                             Path::PermutationOnly,
                             {},
                             {}});
  }
  return table;
}

/// Phases of the same spread, with fractions as exchanged record counts give them.
std::vector<Descriptors> phases(IntegerRng& rng, std::int64_t skew, std::int64_t concentration) {
  std::vector<Descriptors> out;
  for (int i = 0; i < kPhases; ++i) {
    const std::int64_t records = 100'003 + draw(rng, 1'000'000);
    const auto shape = [&](std::int64_t spread) {
      return reduced(records + records * draw(rng, spread) / 1000, records);
    };
    out.push_back({reduced(7 * kMiB * 32 + draw(rng, 7 * kMiB * 32), 32), shape(skew),
                   shape(concentration), 3});
  }
  return out;
}

void select_phases(benchmark::State& state) {
  IntegerRng rng(1);
  const auto table = octave(rng, state.range(0), state.range(1));
  const auto selector = make_selector(table, table.cluster).value();
  const auto asked = phases(rng, state.range(0), state.range(1));
  std::size_t i = 0;
  std::int64_t found = 0;
  for (auto step : state) {
    (void)step;
    const Selection answer = selector->select(asked[i++ % kPhases]);
    found += answer.anchor >= 0;
    benchmark::DoNotOptimize(found);
  }
  state.counters["eligible"] =
      benchmark::Counter(static_cast<double>(found), benchmark::Counter::kAvgIterations);
}

// Arguments: spread of rail skew and of concentration, in thousandths. All over the space of
// 8 rails; around one anchor's neighbourhood; all within one neighbourhood; one shape only.
BENCHMARK(select_phases)
    ->Name("selection")
    ->ArgNames({"skew", "concentration"})
    ->Args({7000, 3000})
    ->Args({300, 80})
    ->Args({70, 20})
    ->Args({1, 1});

}  // namespace
}  // namespace railwave::select

BENCHMARK_MAIN();
