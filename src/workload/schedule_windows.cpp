#include "workload/schedule_windows.hpp"

#include <algorithm>

#include "base/checked.hpp"

namespace railwave::workload {
namespace {

/// Nodes in a ring: evens, then odds.
class Ring {
 public:
  explicit Ring(int nodes) : nodes_(nodes) {}
  [[nodiscard]] int place_of(int node) const {
    return node % 2 == 0 ? node / 2 : (nodes_ + 1) / 2 + node / 2;
  }
  [[nodiscard]] NodeId ahead(int node, int shift) const {
    const int place = (place_of(node) + shift) % nodes_;
    const int evens = (nodes_ + 1) / 2;
    return NodeId(place < evens ? 2 * place : 2 * (place - evens) + 1);
  }
  /// Every fourth node, from the second on. Its neighbours on the ring are none of them.
  [[nodiscard]] bool exchanges(int node) const { return place_of(node) % 4 == 1; }

 private:
  int nodes_;
};

/// A window of one shift; nodes that exchange send by the other one.
Window shifted(int nodes, int shift, int other) {
  const Ring ring(nodes);
  Window window;
  for (int s = 0; s < nodes; ++s) {
    window.push_back({NodeId(s), ring.ahead(s, ring.exchanges(s) ? other : shift)});
  }
  return window;
}

}  // namespace

Windows moderate_windows(int nodes) {
  RAILWAVE_CHECK(nodes >= 3, "nodes %d", nodes);
  Windows windows;
  for (int k = 1; k < nodes;) {
    const int left = nodes - k;
    if (left == 1) {
      windows.push_back(shifted(nodes, k, k));
      k += 1;
    } else if (left == 2) {
      windows.push_back(shifted(nodes, k, k + 1));
      windows.push_back(shifted(nodes, k + 1, k));
      k += 2;
    } else {
      windows.push_back(shifted(nodes, k + 1, k + 2));
      windows.push_back(shifted(nodes, k, k));
      windows.push_back(shifted(nodes, k + 2, k + 1));
      k += 3;
    }
  }
  return windows;
}

Windows extreme_windows(int nodes) {
  RAILWAVE_CHECK(nodes >= 3, "nodes %d", nodes);
  Windows windows(static_cast<std::size_t>(nodes) - 1);
  for (int s = 0; s < nodes; ++s) {
    int to = s == 0 ? 1 : 0;
    for (Window& window : windows) {
      window.push_back({NodeId(s), NodeId(to)});
      do {
        to = (to + nodes - 1) % nodes;
      } while (to == s);
    }
  }
  return windows;
}

std::vector<int> peak_fan_in(Schedule schedule, int nodes) {
  switch (schedule) {
    case Schedule::Ring:
      return {1};
    case Schedule::AllAtOnce:
      return {nodes - 1};
    case Schedule::NodeSkew:
    case Schedule::RailSkew:
      return {3};
    case Schedule::Moderate:
    case Schedule::Extreme:
      break;
  }
  std::vector<int> out;
  for (int w = 1; w < nodes; ++w) {
    const bool last = w == nodes - 1;
    const bool permutation = last ? w % 3 == 1 : w % 3 == 2;
    const int extreme = w == 1 ? nodes - 1 : std::max(nodes + 1 - w, w - 1);
    out.push_back(schedule == Schedule::Extreme ? extreme : permutation ? 1 : 2);
  }
  return out;
}

}  // namespace railwave::workload
