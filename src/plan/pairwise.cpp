#include "plan/pairwise.hpp"

#include <bit>

namespace railwave::plan {
namespace {

/// Circle method for an even number of places: who meets `node` in round k = 0..places-2.
int partner_on_circle(int node, int k, int places) {
  const int turning = places - 1;
  if (node == turning) {
    // The fixed place meets the node with 2x = k (mod places-1); places/2 is the inverse of 2.
    return static_cast<int>(std::int64_t{k} * (places / 2) % turning);
  }
  const int other = ((k - node) % turning + turning) % turning;
  return other == node ? turning : other;
}

int partner(int node, int round, int nodes) {
  if (std::has_single_bit(static_cast<unsigned>(nodes))) return node ^ (round + 1);
  return partner_on_circle(node, round, nodes + nodes % 2);
}

}  // namespace

Windows pairwise_rounds(int nodes, Memory* memory) {
  Windows rounds(memory);
  if (nodes < 2) return rounds;
  const int count = nodes - 1 + nodes % 2;
  for (int k = 0; k < count; ++k) {
    Window& round = rounds.emplace_back();
    for (int s = 0; s < nodes; ++s) {
      const int other = partner(s, k, nodes);
      if (other < nodes) round.push_back({NodeId(s), NodeId(other)});
    }
  }
  return rounds;
}

}  // namespace railwave::plan
