#include "plan/dispatch_plan.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>

#include <fmt/format.h>

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "plan/birkhoff.hpp"
#include "plan/pairwise.hpp"
#include "plan/spray.hpp"
#include "plan/waves.hpp"

namespace railwave::plan {
namespace {

/// Non-negative, and small enough that no sum of them overflows.
Status check_counts(const Topology& topology, const RailCounts& counts) {
  if (counts.nodes() != topology.nodes() || counts.rails() != topology.rails()) {
    return fail(ErrorCode::InvalidArgument, "counts",
                fmt::format("{} nodes x {} rails counted on a cluster of {} x {}", counts.nodes(),
                            counts.rails(), topology.nodes(), topology.rails()));
  }
  // Many counts are small: one look at all their bits then says that they add up.
  constexpr std::size_t kMostCells = std::size_t{1} << 31;
  const auto cells = counts.cells();
  const auto bits = std::accumulate(cells.begin(), cells.end(), std::int64_t{0}, std::bit_or());
  if (static_cast<std::uint64_t>(bits) >> 32 == 0 && cells.size() < kMostCells) return {};
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

/// `demand` [N, N] records of each pair.
Windows with_records(const Windows& windows, const std::vector<std::int64_t>& demand,
                     std::size_t nodes) {
  Windows kept;
  for (const Window& window : windows) {
    Window pairs;
    pairs.reserve(window.size());
    for (const NodePair pair : window) {
      if (demand[pair.source.index() * nodes + pair.destination.index()] > 0) pairs.push_back(pair);
    }
    if (!pairs.empty()) kept.push_back(std::move(pairs));
  }
  return kept;
}

Windows windows_to_run(Path path, int nodes, const Windows& submitted) {
  if (uses_submitted_windows(path)) return submitted;
  if (uses_waves(path)) return permutation_waves(nodes);
  return path == Path::Pairwise ? pairwise_rounds(nodes) : single_window(nodes);
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
  std::vector<std::int64_t> demand;
  for (NodeId s(0); s.value < topology.nodes(); ++s.value) {
    const auto slices = counts.slices(s);
    demand.insert(demand.end(), slices.begin(), slices.end());
    const auto starts = remainder_starts(topology, slices, s);
    plan.start_.insert(plan.start_.end(), starts.begin(), starts.end());
    if (options.path != Path::Spray) continue;
    auto sprayed = spray(topology, counts, s);
    std::move(sprayed.begin(), sprayed.end(), std::back_inserter(plan.sprayed_));
  }
  plan.weigh();
  if (options.path == Path::Birkhoff) {
    plan.run_stages();
    return plan;
  }
  const auto nodes = static_cast<std::size_t>(topology.nodes());
  plan.windows_ =
      with_records(windows_to_run(options.path, topology.nodes(), *submitted), demand, nodes);
  plan.index_windows();
  return plan;
}

void DispatchPlan::weigh() {
  const auto row =
      static_cast<std::size_t>(topology_.nodes()) * static_cast<std::size_t>(topology_.rails());
  for (NodeId s(0); s.value < topology_.nodes(); ++s.value) {
    if (!balances(path_) || !topology_.has_uneven_rails(s)) continue;
    quota_.resize(row * static_cast<std::size_t>(topology_.nodes()));
    const auto quotas = weighted_quotas(topology_, counts_, s);
    std::copy(quotas.begin(), quotas.end(),
              quota_.begin() + static_cast<std::ptrdiff_t>(row * s.index()));
  }
}

void DispatchPlan::run_stages() {
  const auto stages = birkhoff_stages(counts_);
  for (const Stage& stage : stages) {
    Window& window = windows_.emplace_back();
    for (const StagePart& part : stage.parts) window.push_back(part.pair);
  }
  index_windows();
  std::vector<std::vector<std::int64_t>> amounts(first_send_.size() - 1);
  for (const Stage& stage : stages) {
    for (const auto& [pair, records] : stage.parts) amounts[index_of(pair)].push_back(records);
  }
  const auto nodes = static_cast<std::size_t>(topology_.nodes());
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    if (amounts[i].empty()) continue;
    const auto split =
        split_over_stages(rail_loads({NodeId(i / nodes), NodeId(i % nodes)}), amounts[i]);
    sent_loads_.insert(sent_loads_.end(), split.begin(), split.end());
  }
}

void DispatchPlan::index_windows() {
  const auto nodes = static_cast<std::size_t>(topology_.nodes());
  first_send_.assign(nodes * nodes + 1, 0);
  for (const Window& window : windows_) {
    for (const NodePair pair : window) ++first_send_[index_of(pair) + 1];
  }
  std::partial_sum(first_send_.begin(), first_send_.end(), first_send_.begin());
  sends_.resize(first_send_.back());
  std::vector<std::size_t> next(first_send_.begin(), first_send_.end() - 1);
  for (std::size_t w = 0; w < windows_.size(); ++w) {
    for (const NodePair pair : windows_[w]) sends_[next[index_of(pair)]++] = w;
  }
}

std::size_t DispatchPlan::index_of(NodePair pair) const {
  return pair.source.index() * static_cast<std::size_t>(topology_.nodes()) +
         pair.destination.index();
}

std::span<const std::size_t> DispatchPlan::windows_of(NodePair pair) const {
  const std::size_t first = first_send_[index_of(pair)];
  return std::span(sends_).subspan(first, first_send_[index_of(pair) + 1] - first);
}

std::vector<std::int64_t> DispatchPlan::quotas(NodePair pair) const {
  if (!topology_.has_uneven_rails(pair.source)) {
    return slice_quotas(topology_, counts_, pair, start_[index_of(pair)]);
  }
  const auto rails = static_cast<std::size_t>(topology_.rails());
  const auto row = std::span(quota_).subspan(index_of(pair) * rails, rails);
  return {row.begin(), row.end()};
}

SliceAssignment DispatchPlan::slice(NodePair pair) const {
  if (!sprayed_.empty()) return sprayed_[index_of(pair)];
  if (balances(path_)) return balance_slice(counts_, pair, quotas(pair));
  return keep_home_rails(topology_, counts_, pair, start_[index_of(pair)]);
}

std::vector<std::int64_t> DispatchPlan::rail_loads(NodePair pair) const {
  if (!sprayed_.empty()) return sprayed_[index_of(pair)].load;
  if (balances(path_)) return quotas(pair);
  return home_rail_loads(topology_, counts_, pair, start_[index_of(pair)]);
}

std::vector<std::int64_t> DispatchPlan::rail_loads(NodePair pair, std::size_t window) const {
  const auto rails = static_cast<std::size_t>(topology_.rails());
  const auto windows = windows_of(pair);
  const auto found = std::lower_bound(windows.begin(), windows.end(), window);
  if (found == windows.end() || *found != window) return std::vector<std::int64_t>(rails, 0);
  if (sent_loads_.empty()) return rail_loads(pair);
  const std::size_t send =
      first_send_[index_of(pair)] + static_cast<std::size_t>(found - windows.begin());
  const auto row = std::span(sent_loads_).subspan(send * rails, rails);
  return {row.begin(), row.end()};
}

}  // namespace railwave::plan
