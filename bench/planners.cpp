// How long planning takes: one node's part of a joint plan, and whole plans against Birkhoff's.
// Argument: nodes; 8 ranks and 8 rails each. Demand and rail shares are uneven, as routers make
// them.
#include <vector>

#include <benchmark/benchmark.h>

#include "plan/birkhoff.hpp"
#include "plan/dispatch_plan.hpp"
#include "plan/rail_balance.hpp"

namespace railwave::plan {
namespace {

constexpr int kRails = 8;

/// A phase of about 512 records a pair, from a linear congruential generator: the same every run.
struct Phase {
  Topology topology;
  RailCounts counts;
};

Phase phase(int nodes) {
  Phase out{Topology::uniform(nodes, kRails, kRails).value(), RailCounts(nodes, kRails)};
  std::uint64_t state = 1;
  const auto below = [&](std::uint64_t most) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<std::int64_t>((state >> 33) % most);
  };
  for (NodeId s(0); s.value < nodes; ++s.value) {
    for (RailId r(0); r.value < kRails; ++r.value) {
      for (NodeId d(0); d.value < nodes; ++d.value) {
        const auto most = static_cast<std::uint64_t>(16 << (r.value / 2));
        if (s != d) out.counts.set(s, r, d, below(8 + 2 * most));
      }
    }
  }
  return out;
}

/// What a node decides itself: which rail and slot each record of its N-1 slices gets.
void outgoing(benchmark::State& state) {
  const Phase p = phase(static_cast<int>(state.range(0)));
  const NodeId self(p.topology.nodes() / 2);
  for (auto step : state) {
    (void)step;
    const auto starts = remainder_starts(p.topology, p.counts, self);
    for (NodeId d(0); d.value < p.topology.nodes(); ++d.value) {
      if (d == self) continue;
      auto slice = balance_slice(p.topology, p.counts, {self, d}, starts[d.index()]);
      benchmark::DoNotOptimize(slice);
    }
  }
}

/// What a node has to know of the others: how many records come in by each rail from each node.
void incoming(benchmark::State& state) {
  const Phase p = phase(static_cast<int>(state.range(0)));
  const NodeId self(p.topology.nodes() / 2);
  for (auto step : state) {
    (void)step;
    for (NodeId s(0); s.value < p.topology.nodes(); ++s.value) {
      if (s == self) continue;
      const auto starts = remainder_starts(p.topology, p.counts, s);
      auto quota = slice_quotas(p.topology, p.counts, {s, self}, starts[self.index()]);
      benchmark::DoNotOptimize(quota);
    }
  }
}

/// A plan as a value: every window, and what every pair puts on every rail.
void whole(benchmark::State& state, Path path) {
  const Phase p = phase(static_cast<int>(state.range(0)));
  for (auto step : state) {
    (void)step;
    const auto plan = DispatchPlan::create(p.topology, p.counts, {path, {}}).value();
    for (NodeId s(0); s.value < p.topology.nodes(); ++s.value) {
      for (NodeId d(0); d.value < p.topology.nodes(); ++d.value) {
        if (s == d) continue;
        auto loads = plan.rail_loads({s, d});
        benchmark::DoNotOptimize(loads);
      }
    }
  }
}

/// The matchings alone, without rails, counts and windows.
void stages(benchmark::State& state) {
  const Phase p = phase(static_cast<int>(state.range(0)));
  std::size_t found = 0;
  for (auto step : state) {
    (void)step;
    const auto all = birkhoff_stages(p.counts);
    found = all.size();
    benchmark::DoNotOptimize(found);
  }
  state.counters["stages"] = static_cast<double>(found);
}

BENCHMARK(outgoing)->Name("one_node/outgoing")->Arg(4)->Arg(64)->Arg(512);
BENCHMARK(incoming)->Name("one_node/incoming")->Arg(4)->Arg(64)->Arg(512);
BENCHMARK_CAPTURE(whole, joint, Path::Joint)->Arg(4)->Arg(8)->Arg(12)->Arg(16)->Arg(40);
BENCHMARK_CAPTURE(whole, birkhoff, Path::Birkhoff)->Arg(4)->Arg(8)->Arg(12)->Arg(16)->Arg(40);
BENCHMARK(stages)->Name("birkhoff_stages")->Arg(4)->Arg(8)->Arg(12)->Arg(16)->Arg(40);

}  // namespace
}  // namespace railwave::plan

BENCHMARK_MAIN();
