#include "plan/waves.hpp"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/fail.hpp"

namespace railwave::plan {
namespace {

/// Which ordered pairs have been met.
class PairSet {
 public:
  PairSet(int nodes, Memory* memory)
      : nodes_(static_cast<std::size_t>(nodes)), met_(nodes_ * nodes_, false, memory) {}
  [[nodiscard]] bool has(NodePair pair) const { return met_[at(pair)]; }
  void add(NodePair pair) { met_[at(pair)] = true; }

 private:
  [[nodiscard]] std::size_t at(NodePair pair) const {
    return pair.source.index() * nodes_ + pair.destination.index();
  }
  std::size_t nodes_;
  std::pmr::vector<bool> met_;
};

auto reject(std::size_t window, NodePair pair, const std::string& reason) {
  return fail(ErrorCode::InvalidArgument, "windows",
              fmt::format("window {}, pair ({}, {}): {}", window, pair.source.value,
                          pair.destination.value, reason));
}

bool in_range(NodeId node, int nodes) { return node.value >= 0 && node.value < nodes; }

Status check_pairs(std::span<const Window> submitted, int nodes, PairSet& met) {
  for (std::size_t w = 0; w < submitted.size(); ++w) {
    for (const NodePair pair : submitted[w]) {
      if (!in_range(pair.source, nodes) || !in_range(pair.destination, nodes)) {
        return reject(w, pair, fmt::format("a node is outside [0, {})", nodes));
      }
      if (pair.source == pair.destination) {
        return reject(w, pair, "a node does not send to itself over rails; leave the pair out");
      }
      if (met.has(pair)) return reject(w, pair, "the pair is there twice; submit it once");
      met.add(pair);
    }
  }
  return {};
}

Status check_covered(const RailCounts& counts, const PairSet& met) {
  for (NodeId s(0); s.value < counts.nodes(); ++s.value) {
    for (NodeId d(0); d.value < counts.nodes(); ++d.value) {
      if (s == d || met.has({s, d})) continue;
      const std::int64_t records = counts.slice(s, d);
      if (records == 0) continue;
      return fail(ErrorCode::InvalidArgument, "windows",
                  fmt::format("pair ({}, {}) has {} records but is in no window; add it", s.value,
                              d.value, records));
    }
  }
  return {};
}

}  // namespace

Windows permutation_waves(int nodes, Memory* memory) {
  Windows waves(memory);
  waves.reserve(static_cast<std::size_t>(nodes));
  for (int k = 1; k < nodes; ++k) {
    Window& wave = waves.emplace_back();
    wave.reserve(static_cast<std::size_t>(nodes));
    for (int s = 0; s < nodes; ++s) wave.push_back({NodeId(s), NodeId((s + k) % nodes)});
  }
  return waves;
}

Windows single_window(int nodes, Memory* memory) {
  Windows windows(memory);
  if (nodes < 2) return windows;
  Window& window = windows.emplace_back();
  window.reserve(static_cast<std::size_t>(nodes) * static_cast<std::size_t>(nodes - 1));
  for (int s = 0; s < nodes; ++s) {
    for (int d = 0; d < nodes; ++d) {
      if (s != d) window.push_back({NodeId(s), NodeId(d)});
    }
  }
  return windows;
}

Result<Windows> checked_windows(std::span<const Window> submitted, const RailCounts& counts,
                                Memory* memory) {
  if (submitted.empty()) return single_window(counts.nodes(), memory);
  PairSet met(counts.nodes(), memory);
  RAILWAVE_TRY(check_pairs(submitted, counts.nodes(), met));
  RAILWAVE_TRY(check_covered(counts, met));
  return Windows(submitted.begin(), submitted.end(), memory);
}

Windows reversed(const Windows& windows) {
  Windows back = windows;
  for (Window& window : back) {
    for (NodePair& pair : window) std::swap(pair.source, pair.destination);
  }
  return back;
}

}  // namespace railwave::plan
