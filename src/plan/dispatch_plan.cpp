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

/// Leaves out what has no records: `demand` [N, N] are those of each pair.
void drop_empty(Windows& windows, std::span<const std::int64_t> demand, std::size_t nodes) {
  for (Window& window : windows) {
    std::erase_if(window, [&](const NodePair& pair) {
      return demand[pair.source.index() * nodes + pair.destination.index()] == 0;
    });
  }
  std::erase_if(windows, [](const Window& window) { return window.empty(); });
}

Windows windows_to_run(Path path, int nodes, Windows submitted, Memory* memory) {
  if (uses_submitted_windows(path)) return submitted;
  if (uses_waves(path)) return permutation_waves(nodes, memory);
  return path == Path::Pairwise ? pairwise_rounds(nodes, memory) : single_window(nodes, memory);
}

}  // namespace

DispatchPlan::DispatchPlan(std::shared_ptr<const Topology> topology, RailCounts counts,
                           Memory* memory)
    : topology_(std::move(topology)),
      counts_(std::move(counts)),
      windows_(memory),
      first_send_(memory),
      sends_(memory),
      sent_loads_(memory),
      start_(memory),
      quota_(memory) {}

Result<DispatchPlan> DispatchPlan::create(const Topology& topology, RailCounts counts,
                                          const Options& options) {
  return create(std::make_shared<const Topology>(topology), std::move(counts), options);
}

Result<DispatchPlan> DispatchPlan::create(std::shared_ptr<const Topology> shared, RailCounts counts,
                                          const Options& options) {
  const Topology& topology = *shared;
  Memory* scratch = options.scratch;
  RAILWAVE_TRY(check_counts(topology, counts));
  // Checked on every path, so that whether a call is accepted never depends on the path chosen.
  auto submitted = checked_windows(options.submitted, counts,
                                   uses_submitted_windows(options.path) ? options.memory : scratch);
  if (!submitted) return fail(std::move(submitted).error());
  DispatchPlan plan(std::move(shared), std::move(counts), options.memory);
  plan.path_ = options.path;
  const auto nodes = static_cast<std::size_t>(topology.nodes());
  std::pmr::vector<std::int64_t> demand(scratch);
  demand.reserve(nodes * nodes);
  plan.start_.reserve(nodes * nodes);
  for (NodeId s(0); s.value < topology.nodes(); ++s.value) {
    const auto slices = plan.counts_.slices(s, scratch);
    demand.insert(demand.end(), slices.begin(), slices.end());
    const auto starts = remainder_starts(topology, slices, s, scratch);
    plan.start_.insert(plan.start_.end(), starts.begin(), starts.end());
    if (options.path != Path::Spray) continue;
    auto sprayed = spray(topology, plan.counts_, s);
    std::move(sprayed.begin(), sprayed.end(), std::back_inserter(plan.sprayed_));
  }
  plan.weigh(scratch);
  if (options.path == Path::Birkhoff) {
    plan.run_stages(scratch);
    return plan;
  }
  plan.windows_ =
      windows_to_run(options.path, topology.nodes(), *std::move(submitted), options.memory);
  drop_empty(plan.windows_, demand, nodes);
  plan.index_windows(scratch);
  return plan;
}

void DispatchPlan::weigh(Memory* scratch) {
  const auto row =
      static_cast<std::size_t>(topology_->nodes()) * static_cast<std::size_t>(topology_->rails());
  for (NodeId s(0); s.value < topology_->nodes(); ++s.value) {
    if (!balances(path_) || !topology_->has_uneven_rails(s)) continue;
    quota_.resize(row * static_cast<std::size_t>(topology_->nodes()));
    const auto quotas = weighted_quotas(*topology_, counts_, s, scratch);
    std::copy(quotas.begin(), quotas.end(),
              quota_.begin() + static_cast<std::ptrdiff_t>(row * s.index()));
  }
}

void DispatchPlan::run_stages(Memory* scratch) {
  const auto stages = birkhoff_stages(counts_);
  for (const Stage& stage : stages) {
    Window& window = windows_.emplace_back();
    for (const StagePart& part : stage.parts) window.push_back(part.pair);
  }
  index_windows(scratch);
  std::vector<std::vector<std::int64_t>> amounts(first_send_.size() - 1);
  for (const Stage& stage : stages) {
    for (const auto& [pair, records] : stage.parts) amounts[index_of(pair)].push_back(records);
  }
  const auto nodes = static_cast<std::size_t>(topology_->nodes());
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    if (amounts[i].empty()) continue;
    const auto loads = loads_of({NodeId(i / nodes), NodeId(i % nodes)}, scratch);
    const auto split = split_over_stages({loads.begin(), loads.end()}, amounts[i]);
    sent_loads_.insert(sent_loads_.end(), split.begin(), split.end());
  }
}

void DispatchPlan::index_windows(Memory* scratch) {
  const auto nodes = static_cast<std::size_t>(topology_->nodes());
  first_send_.assign(nodes * nodes + 1, 0);
  for (const Window& window : windows_) {
    for (const NodePair pair : window) ++first_send_[index_of(pair) + 1];
  }
  std::partial_sum(first_send_.begin(), first_send_.end(), first_send_.begin());
  sends_.resize(first_send_.back());
  std::pmr::vector<std::size_t> next(first_send_.begin(), first_send_.end() - 1, scratch);
  for (std::size_t w = 0; w < windows_.size(); ++w) {
    for (const NodePair pair : windows_[w]) sends_[next[index_of(pair)]++] = w;
  }
}

std::size_t DispatchPlan::index_of(NodePair pair) const {
  return pair.source.index() * static_cast<std::size_t>(topology_->nodes()) +
         pair.destination.index();
}

std::span<const std::size_t> DispatchPlan::windows_of(NodePair pair) const {
  const std::size_t first = first_send_[index_of(pair)];
  return std::span(sends_).subspan(first, first_send_[index_of(pair) + 1] - first);
}

std::pmr::vector<std::int64_t> DispatchPlan::quotas(NodePair pair, Memory* memory) const {
  if (!topology_->has_uneven_rails(pair.source)) {
    return slice_quotas(*topology_, counts_, pair, start_[index_of(pair)], memory);
  }
  const auto rails = static_cast<std::size_t>(topology_->rails());
  const auto row = std::span(quota_).subspan(index_of(pair) * rails, rails);
  return {row.begin(), row.end(), memory};
}

SliceAssignment DispatchPlan::slice(NodePair pair, Memory* memory) const {
  if (!sprayed_.empty()) return sprayed_[index_of(pair)];
  if (balances(path_)) return balance_slice(counts_, pair, quotas(pair, memory));
  return keep_home_rails(*topology_, counts_, pair, start_[index_of(pair)], memory);
}

std::pmr::vector<std::int64_t> DispatchPlan::loads_of(NodePair pair, Memory* memory) const {
  if (!sprayed_.empty()) return {sprayed_[index_of(pair)].load, memory};
  if (balances(path_)) return quotas(pair, memory);
  return home_rail_loads(*topology_, counts_, pair, start_[index_of(pair)], memory);
}

std::pmr::vector<std::int64_t> DispatchPlan::rail_loads(NodePair pair, std::size_t window,
                                                        Memory* memory) const {
  const auto rails = static_cast<std::size_t>(topology_->rails());
  const auto windows = windows_of(pair);
  const auto found = std::lower_bound(windows.begin(), windows.end(), window);
  if (found == windows.end() || *found != window) {
    return std::pmr::vector<std::int64_t>(rails, 0, memory);
  }
  if (sent_loads_.empty()) return loads_of(pair, memory);
  const std::size_t send =
      first_send_[index_of(pair)] + static_cast<std::size_t>(found - windows.begin());
  const auto row = std::span(sent_loads_).subspan(send * rails, rails);
  return {row.begin(), row.end(), memory};
}

}  // namespace railwave::plan
