#include "plan/dispatch_plan.hpp"

#include <fmt/format.h>

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "plan/waves.hpp"

namespace railwave::plan {
namespace {

std::size_t pair_index(NodePair pair, int nodes) {
  return pair.source.index() * static_cast<std::size_t>(nodes) + pair.destination.index();
}

/// Non-negative, and small enough that no sum of them overflows.
Status check_counts(const Topology& topology, const RailCounts& counts) {
  if (counts.nodes() != topology.nodes() || counts.rails() != topology.rails()) {
    return fail(ErrorCode::InvalidArgument, "counts",
                fmt::format("{} nodes x {} rails counted on a cluster of {} x {}", counts.nodes(),
                            counts.rails(), topology.nodes(), topology.rails()));
  }
  std::int64_t total = 0;
  for (NodeId s(0); s.value < counts.nodes(); ++s.value) {
    for (RailId r(0); r.value < counts.rails(); ++r.value) {
      for (NodeId d(0); d.value < counts.nodes(); ++d.value) {
        const std::int64_t records = counts.at(s, r, d);
        const auto sum = checked_add(total, records);
        if (records < 0 || !sum) {
          return fail(ErrorCode::InvalidArgument, "counts",
                      fmt::format("node {}, rail {}, to node {}: {} records on top of {}", s.value,
                                  r.value, d.value, records, total));
        }
        total = *sum;
      }
    }
  }
  return {};
}

Windows with_records(const Windows& windows, const RailCounts& counts) {
  Windows kept;
  for (const Window& window : windows) {
    Window pairs;
    for (const NodePair pair : window) {
      if (counts.slice(pair.source, pair.destination) > 0) pairs.push_back(pair);
    }
    if (!pairs.empty()) kept.push_back(std::move(pairs));
  }
  return kept;
}

}  // namespace

Result<DispatchPlan> DispatchPlan::create(const Topology& topology, const RailCounts& counts,
                                          const Options& options) {
  RAILWAVE_TRY(check_counts(topology, counts));
  // Checked on every path, so that whether a call is accepted never depends on the path chosen.
  const auto submitted = checked_windows(options.submitted, counts);
  if (!submitted) return fail(submitted.error());
  DispatchPlan plan(topology, counts);
  plan.path_ = options.path;
  plan.windows_ = with_records(
      uses_waves(options.path) ? permutation_waves(topology.nodes()) : *submitted, counts);
  const auto nodes = static_cast<std::size_t>(topology.nodes());
  plan.window_of_.assign(nodes * nodes, -1);
  for (std::size_t w = 0; w < plan.windows_.size(); ++w) {
    for (const NodePair pair : plan.windows_[w]) {
      plan.window_of_[pair_index(pair, topology.nodes())] = static_cast<std::int32_t>(w);
    }
  }
  for (NodeId s(0); s.value < topology.nodes(); ++s.value) {
    const auto starts = remainder_starts(topology, counts, s);
    plan.start_.insert(plan.start_.end(), starts.begin(), starts.end());
  }
  return plan;
}

std::optional<std::size_t> DispatchPlan::window_of(NodePair pair) const {
  const std::int32_t window = window_of_[pair_index(pair, topology_.nodes())];
  if (window < 0) return std::nullopt;
  return static_cast<std::size_t>(window);
}

SliceAssignment DispatchPlan::slice(NodePair pair) const {
  const int start = start_[pair_index(pair, topology_.nodes())];
  return balances(path_) ? balance_slice(topology_, counts_, pair, start)
                         : keep_home_rails(topology_, counts_, pair, start);
}

std::vector<std::int64_t> DispatchPlan::rail_loads(NodePair pair) const {
  const int start = start_[pair_index(pair, topology_.nodes())];
  return balances(path_) ? slice_quotas(topology_, counts_, pair, start)
                         : home_rail_loads(topology_, counts_, pair, start);
}

}  // namespace railwave::plan
