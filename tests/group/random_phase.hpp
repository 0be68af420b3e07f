// Random phases: cluster, routing, windows, layout and types drawn from a seed, the same on every
// rank. Their check against the reference is in phase_check.hpp.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <random>
#include <vector>

#include <railwave/communicator.hpp>

#include "group/elements.hpp"
#include "group/reference.hpp"

namespace phases {

using railwave::NodeId;
using railwave::RankId;

struct Shape {
  railwave::Topology::Options cluster;
  std::vector<std::vector<int>> bridges;  // [N][R], empty: chi is not by bridges
  int experts = 1;
  std::vector<int> owner;  // empty: contiguous
  reference::Model model;
  railwave::Windows windows;
  bool fp8 = false;  // dispatched in fp8 with scales; combine takes model.type
  railwave::RowLayout layout = railwave::RowLayout::RankMajor;
  int alignment = 1;
  bool apply_weights = false;
  bool return_weights = false;
  std::uint64_t seed = 0;
};

/// How chi is drawn: any bijection for each pair of nodes, or as an emulated cluster can have it,
/// by the bridge into which each node plugs each rail.
enum class Wires { AnyChi, Bridges };

inline std::vector<int> permutation(int size, std::mt19937_64& rng) {
  std::vector<int> out;
  for (int i = 0; i < size; ++i) out.push_back(i);
  std::shuffle(out.begin(), out.end(), rng);
  return out;
}

/// chi(s,d)(r) is the rail of d on the bridge of rail r of s.
inline void plug_into_bridges(Shape& s, std::mt19937_64& rng) {
  const std::size_t nodes = s.cluster.ranks_per_node.size();
  for (std::size_t n = 0; n < nodes; ++n) {
    s.bridges.push_back(permutation(s.cluster.rails, rng));
  }
  s.cluster.ingress.assign(nodes, std::vector<std::vector<int>>(nodes));
  for (std::size_t a = 0; a < nodes; ++a) {
    for (std::size_t b = 0; b < nodes; ++b) {
      for (const int bridge : s.bridges[a]) {
        const auto at = std::find(s.bridges[b].begin(), s.bridges[b].end(), bridge);
        s.cluster.ingress[a][b].push_back(static_cast<int>(at - s.bridges[b].begin()));
      }
    }
  }
}

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : rng_(seed) {}
  int pick(int low, int high) {
    return low + static_cast<int>(rng_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return pick(1, 100) <= percent; }
  std::mt19937_64& bits() { return rng_; }

 private:
  std::mt19937_64 rng_;
};

/// Nodes, ranks, rails, home rails, chi and missing rails.
inline void draw_cluster(Shape& s, Dice& dice, int max_nodes, int max_ranks_per_node, Wires wires) {
  const int nodes = dice.pick(1, max_nodes);
  s.cluster.rails = dice.pick(1, 8);
  const bool several = dice.chance(35);  // several ranks on one rail
  if (several) s.cluster.rails = dice.pick(1, 2);
  const bool odd = dice.chance(40);  // different numbers of ranks
  const int per_node = dice.pick(several ? 2 : 1, max_ranks_per_node);
  for (int n = 0; n < nodes; ++n) {
    s.cluster.ranks_per_node.push_back(odd ? dice.pick(1, max_ranks_per_node) : per_node);
  }
  if (dice.chance(40)) {
    for (int n = 0; n < nodes; ++n) {
      s.cluster.home_rail.emplace_back();
      for (int g = 0; g < s.cluster.ranks_per_node[static_cast<std::size_t>(n)]; ++g) {
        s.cluster.home_rail.back().push_back(dice.pick(0, s.cluster.rails - 1));
      }
    }
  }
  if (dice.chance(40) && s.cluster.rails > 1) {
    if (wires == Wires::Bridges) {
      plug_into_bridges(s, dice.bits());
    } else {
      s.cluster.ingress.resize(static_cast<std::size_t>(nodes));
      for (auto& row : s.cluster.ingress) {
        for (int n = 0; n < nodes; ++n) row.push_back(permutation(s.cluster.rails, dice.bits()));
      }
    }
  }
  if (dice.chance(45) && s.cluster.rails > 1 && nodes > 1) {
    s.cluster.live.assign(static_cast<std::size_t>(nodes),
                          std::vector<bool>(static_cast<std::size_t>(s.cluster.rails), true));
    for (int i = dice.pick(1, s.cluster.rails - 1); i > 0; --i) {
      s.cluster.live[static_cast<std::size_t>(dice.pick(0, nodes - 1))]
                    [static_cast<std::size_t>(dice.pick(0, s.cluster.rails - 1))] = false;
    }
    // A pair without an eligible rail is no cluster: all rails come back then.
    if (!railwave::Topology::create(s.cluster)) s.cluster.live.clear();
  }
}

/// The ranks of the model by node, and who owns each expert.
inline void draw_experts(Shape& s, Dice& dice) {
  const int nodes = static_cast<int>(s.cluster.ranks_per_node.size());
  int ranks = 0;
  for (int n = 0; n < nodes; ++n) {
    for (int g = 0; g < s.cluster.ranks_per_node[static_cast<std::size_t>(n)]; ++g, ++ranks) {
      s.model.node_of_rank.push_back(n);
    }
  }
  s.experts = dice.pick(1, 3 * ranks);
  for (int e = 0; e < s.experts; ++e) {
    const int base = s.experts / ranks;
    const int more = s.experts % ranks;
    s.model.owner.push_back(e < more * (base + 1)
                                ? e / (base + 1)
                                : more + (e - more * (base + 1)) / std::max(base, 1));
  }
  if (dice.chance(30)) {
    for (int& owner : s.model.owner) owner = dice.pick(0, ranks - 1);
    s.owner = s.model.owner;
  }
}

/// What changes from step to step on one group: types, layout, tokens with their experts, windows.
inline void draw_step(Shape& s, Dice& dice) {
  const int nodes = static_cast<int>(s.cluster.ranks_per_node.size());
  s.model.top_k = dice.pick(1, std::min(8, s.experts));
  s.model.hidden = dice.pick(0, 1) == 0 ? dice.pick(1, 9) : dice.pick(10, 200);
  s.model.type = std::array{Type::BF16, Type::FP16, Type::FP32}[dice.bits()() % 3];
  s.fp8 = dice.chance(25);
  if (dice.chance(50)) {
    s.layout = railwave::RowLayout::ExpertMajor;
    s.alignment = dice.chance(50) ? 1 : dice.pick(2, 16);
    s.apply_weights = dice.chance(50);
  }
  s.return_weights = dice.chance(40);
  const bool empty_ranks = dice.chance(45);
  const int most = dice.chance(50) ? 64 : 9;
  for (std::size_t p = 0; p < s.model.node_of_rank.size(); ++p) {
    const int tokens = empty_ranks && dice.chance(50) ? 0 : dice.pick(0, most);
    s.model.idx.emplace_back();
    const bool hot = dice.chance(20);
    for (int i = 0; i < tokens * s.model.top_k; ++i) {
      s.model.idx.back().push_back(dice.chance(8) ? -1
                                   : hot          ? s.experts / 2
                                                  : dice.pick(0, s.experts - 1));
    }
  }
  if (nodes > 1 && dice.chance(50)) {
    std::vector<railwave::NodePair> pairs;
    for (int a = 0; a < nodes; ++a) {
      for (int b = 0; b < nodes; ++b) {
        if (a != b) pairs.push_back({NodeId(a), NodeId(b)});
      }
    }
    std::shuffle(pairs.begin(), pairs.end(), dice.bits());
    while (!pairs.empty()) {
      const int size = std::min(dice.pick(1, 2 * nodes), static_cast<int>(pairs.size()));
      s.windows.emplace_back(pairs.end() - size, pairs.end());
      pairs.resize(pairs.size() - static_cast<std::size_t>(size));
    }
  }
}

inline void draw_weights(Shape& s, Dice& dice) {
  if (!dice.chance(25)) return;
  for (std::size_t n = 0; n < s.cluster.ranks_per_node.size(); ++n) {
    s.cluster.weights.emplace_back();
    for (int r = 0; r < s.cluster.rails; ++r) {
      s.cluster.weights.back().push_back(dice.pick(1, 4));
    }
  }
}

/// Draws a phase. At least 30 % have empty ranks, 30 % G != R, 20 % several ranks per rail, 20 %
/// rails missing at a node (the counts are tested), and random home rails, chi, windows and weights
/// of rails.
inline Shape draw(std::uint64_t seed, int max_nodes = 6, int max_ranks_per_node = 4,
                  Wires wires = Wires::AnyChi) {
  Dice dice(seed);
  Shape s;
  s.seed = seed;
  draw_cluster(s, dice, max_nodes, max_ranks_per_node, wires);
  draw_experts(s, dice);
  draw_step(s, dice);
  draw_weights(s, dice);
  return s;
}

inline railwave::Placement placement_of(const Shape& s) {
  const int ranks = static_cast<int>(s.model.node_of_rank.size());
  if (s.owner.empty()) return *railwave::Placement::contiguous(s.experts, ranks);
  std::vector<RankId> owner;
  for (const int o : s.owner) owner.emplace_back(o);
  return *railwave::Placement::from_owners(owner, ranks);
}

/// What the group of a phase is made with; slots, chunks and start policies vary with the seed.
inline railwave::CommunicatorOptions options_of(const Shape& s, RankId self) {
  using railwave::StartPolicy;
  railwave::CommunicatorOptions options;
  options.self = self;
  options.max_tokens_per_rank = 64;
  const auto ranks = static_cast<std::int64_t>(s.model.node_of_rank.size());
  options.max_recv_rows = 64 * ranks * s.model.top_k + 16 * s.experts;  // in either layout
  options.max_hidden = 200;
  options.widest_dtype = dtype_of(s.model.type);
  options.max_top_k = s.model.top_k;
  // For three phases under way, each with its input and its experts' rows.
  options.shared_bytes = 3 * (options.max_recv_rows * s.model.hidden * 4 + 2 * 64 * 200 * 4);
  options.phases_in_flight = 1 + static_cast<int>(s.seed / 2 % 3);
  options.packing = static_cast<railwave::Packing>(s.seed / 6 % 3);
  options.chunk_bytes = 64 + static_cast<std::int64_t>(s.seed % 4096);
  options.send_slots = 1 + static_cast<int>(s.seed % 3);
  options.wave_start = s.seed % 3 == 0   ? StartPolicy::Grant
                       : s.seed % 3 == 1 ? StartPolicy::RailBarrier
                                         : StartPolicy::Free;
  options.window_start = s.seed % 5 == 0 ? StartPolicy::Free : StartPolicy::Submission;
  options.lead_bytes = static_cast<std::int64_t>(s.seed % 2000);
  options.deadlines = {std::chrono::seconds(10), std::chrono::seconds(20),
                       std::chrono::seconds(20)};
  return options;
}

}  // namespace phases
