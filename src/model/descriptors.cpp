#include "model/descriptors.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "base/fail.hpp"

namespace railwave {
namespace {

// Counts are sums over up to N * R cells, so products with N * R or row bytes pass 64 bits.
using Wide = unsigned __int128;

std::optional<Ratio> reduced(Wide num, Wide den) {
  Wide a = num;
  Wide b = den;
  while (b != 0) {
    const Wide rest = a % b;
    a = b;
    b = rest;
  }
  num /= a;
  den /= a;
  constexpr Wide kMost = std::numeric_limits<std::int64_t>::max();
  if (num > kMost || den > kMost) return std::nullopt;
  return Ratio{static_cast<std::int64_t>(num), static_cast<std::int64_t>(den)};
}

/// The most outgoing records of one (node, home rail).
std::int64_t largest_rail_load(const RailCounts& counts) {
  std::int64_t largest = 0;
  for (NodeId s(0); s.value < counts.nodes(); ++s.value) {
    for (RailId r(0); r.value < counts.rails(); ++r.value) {
      std::int64_t load = 0;
      for (NodeId d(0); d.value < counts.nodes(); ++d.value) {
        if (s != d) load += counts.at(s, r, d);
      }
      largest = std::max(largest, load);
    }
  }
  return largest;
}

/// Records and senders by receiver within one window.
class Receivers {
 public:
  explicit Receivers(int nodes)
      : got_(static_cast<std::size_t>(nodes), 0), senders_(static_cast<std::size_t>(nodes), 0) {}
  void add(NodeId destination, std::int64_t records) {
    if (records == 0) return;
    got_[destination.index()] += records;
    ++senders_[destination.index()];
  }
  [[nodiscard]] std::int64_t total() const {
    return std::accumulate(got_.begin(), got_.end(), std::int64_t{0});
  }
  [[nodiscard]] std::int64_t largest() const { return *std::max_element(got_.begin(), got_.end()); }
  [[nodiscard]] int fan_in() const { return *std::max_element(senders_.begin(), senders_.end()); }

 private:
  std::vector<std::int64_t> got_;
  std::vector<int> senders_;
};

std::vector<Receivers> receivers_by_window(const RailCounts& counts, const Windows& submitted) {
  std::vector<Receivers> windows;
  for (const Window& window : submitted) {
    Receivers receivers(counts.nodes());
    for (const auto& [s, d] : window) receivers.add(d, counts.slice(s, d));
    windows.push_back(std::move(receivers));
  }
  if (!submitted.empty()) return windows;
  Receivers all(counts.nodes());
  for (NodeId s(0); s.value < counts.nodes(); ++s.value) {
    for (NodeId d(0); d.value < counts.nodes(); ++d.value) all.add(d, counts.slice(s, d));
  }
  return {std::move(all)};
}

bool less(const Ratio& a, const Ratio& b) {
  return static_cast<Wide>(a.num) * static_cast<Wide>(b.den) <
         static_cast<Wide>(b.num) * static_cast<Wide>(a.den);
}

}  // namespace

Result<Descriptors> describe(const RailCounts& counts, const Windows& submitted,
                             std::int64_t row_bytes, int ranks) {
  if (row_bytes < 1) {
    return fail(ErrorCode::InvalidArgument, "row_bytes",
                fmt::format("{} bytes a record; there must be 1", row_bytes));
  }
  if (ranks < 1) {
    return fail(ErrorCode::InvalidArgument, "ranks", fmt::format("{} ranks", ranks));
  }
  const std::int64_t total = counts.total();
  const auto overflow = [&](const char* field) {
    return fail(ErrorCode::InvalidArgument, field,
                fmt::format("{} records of {} bytes do not fit into 64 bits", total, row_bytes));
  };
  const auto payload =
      reduced(static_cast<Wide>(total) * static_cast<Wide>(row_bytes), static_cast<Wide>(ranks));
  if (!payload) return overflow("row_bytes");
  Descriptors out;
  out.payload = *payload;
  if (total == 0) return out;

  const auto nodes = static_cast<Wide>(counts.nodes());
  out.rail_skew = reduced(
      static_cast<Wide>(largest_rail_load(counts)) * nodes * static_cast<Wide>(counts.rails()),
      static_cast<Wide>(total));
  if (!out.rail_skew) return overflow("records");
  for (const Receivers& window : receivers_by_window(counts, submitted)) {
    if (window.total() == 0) continue;
    const auto kappa =
        reduced(static_cast<Wide>(window.largest()) * nodes, static_cast<Wide>(window.total()));
    if (!kappa) return overflow("records");
    if (!out.receiver_concentration || less(*out.receiver_concentration, *kappa)) {
      out.receiver_concentration = kappa;
    }
    out.fan_in = std::max(out.fan_in, window.fan_in());
  }
  return out;
}

}  // namespace railwave
