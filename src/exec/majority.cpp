#include "exec/majority.hpp"

#include <algorithm>
#include <vector>

namespace railwave::exec {
namespace {

/// The value that most ranks have; on a tie rank 0's if it is among them, else the least.
std::uint64_t majority(std::span<const std::uint64_t> values) {
  std::vector<std::uint64_t> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  std::uint64_t best = values.front();
  auto best_count = std::count(values.begin(), values.end(), best);
  for (auto it = sorted.begin(); it != sorted.end();) {
    const auto next = std::upper_bound(it, sorted.end(), *it);
    if (next - it > best_count) {
      best = *it;
      best_count = next - it;
    }
    it = next;
  }
  return best;
}

}  // namespace

std::optional<OddOneOut> odd_one_out(std::span<const std::uint64_t> values) {
  const std::uint64_t common = majority(values);
  const auto odd = std::find_if(values.begin(), values.end(),
                                [&](std::uint64_t value) { return value != common; });
  if (odd == values.end()) return std::nullopt;
  return OddOneOut{static_cast<std::size_t>(odd - values.begin()), common};
}

}  // namespace railwave::exec
