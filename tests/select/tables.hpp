// Small cost tables for tests.
#pragma once

#include <memory>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "select/selector.hpp"

namespace railwave::select {

inline Decimal decimal(std::string_view text) { return Decimal::parse(text).value(); }

/// The paper's scales for a cluster of 4 nodes of 8 ranks and `rails` rails, without anchors.
inline CostTable empty_table(int rails = 8) {
  CostTable table;
  table.cluster = {{8, 8, 8, 8}, rails};
  table.scales = {decimal("56"), decimal("1.25"), decimal(std::to_string(rails - 1)), decimal("2"),
                  decimal("0.02")};
  table.where = "nowhere";
  table.how = "not at all";
  return table;
}

inline Anchor anchor(const char* payload, const char* rail_skew, const char* concentration,
                     Path path) {
  return {{decimal(payload), decimal(rail_skew), decimal(concentration)}, path, {}, {}};
}

inline std::unique_ptr<const Selector> selector_of(const CostTable& table) {
  return make_selector(table, table.cluster).value();
}

/// num / den in lowest terms.
inline Ratio reduced(std::int64_t num, std::int64_t den) {
  const std::int64_t divisor = std::gcd(num, den);
  return {num / divisor, den / divisor};
}

constexpr std::int64_t kMiB = 1 << 20;

inline Descriptors phase(const Ratio& payload, const Ratio& rail_skew, const Ratio& concentration) {
  return {payload, rail_skew, concentration, 1};
}

}  // namespace railwave::select
