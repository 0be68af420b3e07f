#include "workload/bins.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "base/checked.hpp"

namespace railwave::workload {

std::vector<std::int64_t> bin_counts(std::span<const std::int64_t> expert_counts, int bins,
                                     BinOrder order) {
  RAILWAVE_CHECK(bins >= 1, "bins %d", bins);
  std::vector<std::int64_t> counts(expert_counts.begin(), expert_counts.end());
  if (order == BinOrder::Sorted) std::ranges::sort(counts, std::greater<>{});
  const auto size = counts.size() / static_cast<std::size_t>(bins);
  const auto longer = counts.size() % static_cast<std::size_t>(bins);
  std::vector<std::int64_t> out(static_cast<std::size_t>(bins), 0);
  auto next = counts.begin();
  for (std::size_t bin = 0; bin < out.size(); ++bin) {
    const auto end = next + static_cast<std::ptrdiff_t>(size + (bin < longer ? 1 : 0));
    out[bin] = std::accumulate(next, end, std::int64_t{0});
    next = end;
  }
  return out;
}

std::vector<std::int64_t> apportion(std::int64_t total, std::span<const std::int64_t> weights) {
  __extension__ using Wide = __int128;
  const auto sum = std::accumulate(weights.begin(), weights.end(), Wide{0});
  std::vector<std::int64_t> parts(weights.size(), 0);
  if (total == 0) return parts;
  RAILWAVE_CHECK(total > 0 && sum > 0);
  std::vector<Wide> remainder(weights.size());
  std::int64_t left = total;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Wide share = Wide{total} * weights[i];
    parts[i] = static_cast<std::int64_t>(share / sum);
    remainder[i] = share % sum;
    left -= parts[i];
  }
  std::vector<std::size_t> order(weights.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](auto a, auto b) { return remainder[a] > remainder[b]; });
  for (std::size_t i = 0; std::cmp_less(i, left); ++i) ++parts[order[i]];
  return parts;
}

}  // namespace railwave::workload
