// What can be said of a phase before a byte moves: where its records go, how long that takes at
// least, which path to take, and whether to move rows or experts. Needs no network.
//
//   decide [share/railwave/tables/paper-h800.json]
#include <cstdint>
#include <cstdio>
#include <string>

#include <railwave/railwave.hpp>

#include "model/descriptors.hpp"
#include "model/rail_counts.hpp"
#include "plan/dispatch_plan.hpp"
#include "plan/lower_bound.hpp"
#include "plan/mode_selector.hpp"
#include "select/cost_table_file.hpp"
#include "select/selector.hpp"

using namespace railwave;

namespace {

constexpr int kNodes = 4;
constexpr int kRails = 8;
constexpr std::int64_t kRowBytes = 7168 * 2;  // bf16

int failed(const Error& error) {
  std::fprintf(stderr, "%s\n", to_string(error).c_str());
  return 1;
}

/// Every node's rank 0 has half of the node's records: one hot rail.
RailCounts skewed() {
  RailCounts counts(kNodes, kRails);
  for (int s = 0; s < kNodes; ++s) {
    for (int r = 0; r < kRails; ++r) {
      for (int d = 0; d < kNodes; ++d) {
        if (s != d) counts.set(NodeId(s), RailId(r), NodeId(d), r == 0 ? 1400 : 200);
      }
    }
  }
  return counts;
}

/// The plan of one path against what no plan can beat.
Status compare(const Topology& topology, const RailCounts& counts, Path path) {
  const auto plan = plan::DispatchPlan::create(topology, counts, {path});
  if (!plan) return tl::unexpected(plan.error());
  const double bound = plan::bound_records(topology, counts).value();
  const auto takes = static_cast<double>(plan::barrier_path_bound_records(*plan));
  std::printf("%-16s %zu windows, busiest rails carry %.0f records, %.2f x bound\n",
              std::string(to_string(path)).c_str(), plan->windows().size(), takes, takes / bound);
  return {};
}

/// A measured table's answer for these records.
Status select_path(const Topology& topology, const Descriptors& phase, const std::string& file) {
  const auto table = select::read_cost_table(file);
  if (!table) return tl::unexpected(table.error());
  const auto selector = select::make_selector(*table, select::ClusterShape::of(topology));
  if (!selector) return tl::unexpected(selector.error());
  const select::Explanation why = (*selector)->explain(phase, 1);
  std::printf("select: %s (%s)\n", std::string(to_string(why.selection.path)).c_str(),
              why.sentence.c_str());
  return {};
}

/// Rows or experts, and when to ask again.
Status choose_mode(const Topology& topology) {
  plan::ModeModel model;
  model.hidden = 7168;
  model.experts = {256, plan::Per::Total};
  model.top_k = 8;
  model.expert_bytes = std::int64_t{3} * 7168 * 2048 * 2;
  model.dispatch_row_bytes = model.return_row_bytes = kRowBytes;
  plan::ModeSelector modes;
  for (const std::int64_t tokens : {4096, 1 << 20}) {
    const plan::ModeLoad load{{tokens, plan::Per::Worker}};
    for (const plan::Reevaluation& due : modes.triggers(topology, model, load)) {
      std::printf("mode: ask again, %s\n", due.reason.c_str());
    }
    const auto decision = modes.select(topology, model, load);
    if (!decision) return tl::unexpected(decision.error());
    std::printf("mode: %s with %lld tokens a worker\n",
                std::string(to_string(decision->mode)).c_str(), static_cast<long long>(tokens));
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const auto topology = Topology::uniform(kNodes, kRails, kRails);
  if (!topology) return failed(topology.error());
  const RailCounts counts = skewed();
  const auto phase = describe(counts, {}, kRowBytes, topology->ranks());
  if (!phase) return failed(phase.error());
  std::printf("%.2f MiB a rank leave its node, rail skew %.3f, concentration %.3f\n",
              phase->payload.value() / (1 << 20), phase->rail_skew->value(),
              phase->receiver_concentration->value());
  for (const Path path : kAllPaths) {
    if (const Status told = compare(*topology, counts, path); !told) return failed(told.error());
  }
  if (argc > 1) {
    const Status selected = select_path(*topology, *phase, argv[1]);
    if (!selected) return failed(selected.error());
  }
  if (const Status chosen = choose_mode(*topology); !chosen) return failed(chosen.error());
  return 0;
}
