// The paper's load bins: a layer's expert counts as one volume per local rank (App. A.6).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace railwave::workload {

/// In which order a layer's experts are cut into bins.
///   Sorted   counts descending: the paper's construction; bin 0 is the hottest
///   Natural  by expert index: nearer to a real placement, with less rail skew
enum class BinOrder : std::uint8_t { Sorted = 0, Natural = 1 };

constexpr std::string_view to_string(BinOrder order) {
  return order == BinOrder::Sorted ? "sorted" : "natural";
}

constexpr std::optional<BinOrder> bin_order_from_string(std::string_view name) {
  for (const BinOrder order : {BinOrder::Sorted, BinOrder::Natural}) {
    if (to_string(order) == name) return order;
  }
  return std::nullopt;
}

/// [G] the layer's counts summed over bins of equally many experts; the first E mod G bins have one
/// expert more, with E < G the last bins none. REQUIRES: bins >= 1.
/// Source: paper App. A.6, DESIGN 5.7.
std::vector<std::int64_t> bin_counts(std::span<const std::int64_t> expert_counts, int bins,
                                     BinOrder order);

/// `total` split in proportion to `weights` by largest remainder, ties to the lower index; the
/// parts sum to exactly `total`. REQUIRES: total >= 0, weights >= 0, their sum > 0 unless total ==
/// 0.
std::vector<std::int64_t> apportion(std::int64_t total, std::span<const std::int64_t> weights);

}  // namespace railwave::workload
