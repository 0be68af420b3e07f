// Random phases: cluster, routing, windows and path drawn from a seed, the same on every rank, and
// the check of one rank's part against the reference.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <railwave/communicator.hpp>

#include "group/reference.hpp"

namespace phases {

using railwave::NodeId;
using railwave::RankId;

inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

/// A finite value of wide range, exact in bf16; one in eight is +-2^60, so that sums cancel and the
/// order in which they are taken shows in every dtype.
inline float value_of(std::uint64_t seed, int a, int b, int c, int h) {
  const std::uint64_t x =
      mix(seed ^ mix(static_cast<std::uint64_t>(a) << 48 ^ static_cast<std::uint64_t>(b) << 32 ^
                     static_cast<std::uint64_t>(c) << 16 ^ static_cast<std::uint64_t>(h)));
  const bool large = (x >> 32) % 8 == 0;
  const auto bits = static_cast<std::uint16_t>(
      large ? (x & 0x8000U) | (187U << 7) : (x & 0x807fU) | ((100 + (x >> 16) % 50) << 7));
  const std::uint32_t wide = static_cast<std::uint32_t>(bits) << 16;
  float out;
  std::memcpy(&out, &wide, 4);
  return out;
}

inline void store(std::byte* row, int h, float v, bool bf16) {
  std::uint32_t bits;
  std::memcpy(&bits, &v, 4);
  if (bf16) {
    const auto half = static_cast<std::uint16_t>(bits >> 16);
    std::memcpy(row + 2 * h, &half, 2);
  } else {
    std::memcpy(row + 4 * h, &bits, 4);
  }
}

struct Shape {
  railwave::Topology::Options cluster;
  std::vector<std::vector<int>> bridges;  // [N][R], empty: chi is not by bridges
  int experts = 1;
  std::vector<int> owner;  // empty: contiguous
  reference::Model model;
  railwave::Windows windows;
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

/// Draws a phase. At least 30 % have empty ranks, 30 % G != R, 20 % several ranks per rail, 20 %
/// rails missing at a node (the counts are tested), and random home rails, chi, windows and weights
/// of rails.
inline Shape draw(std::uint64_t seed, int max_nodes = 6, int max_ranks_per_node = 4,
                  Wires wires = Wires::AnyChi) {
  std::mt19937_64 rng(seed);
  const auto pick = [&](int low, int high) {
    return low + static_cast<int>(rng() % static_cast<std::uint64_t>(high - low + 1));
  };
  const auto chance = [&](int percent) { return pick(1, 100) <= percent; };
  Shape s;
  s.seed = seed;
  const int nodes = pick(1, max_nodes);
  s.cluster.rails = pick(1, 8);
  const int rails = s.cluster.rails;
  const bool several = chance(35);  // several ranks on one rail
  if (several) s.cluster.rails = pick(1, 2);
  const bool odd = chance(40);  // different numbers of ranks
  const int per_node = pick(several ? 2 : 1, max_ranks_per_node);
  for (int n = 0; n < nodes; ++n) {
    s.cluster.ranks_per_node.push_back(odd ? pick(1, max_ranks_per_node) : per_node);
  }
  (void)rails;
  if (chance(40)) {
    for (int n = 0; n < nodes; ++n) {
      s.cluster.home_rail.emplace_back();
      for (int g = 0; g < s.cluster.ranks_per_node[static_cast<std::size_t>(n)]; ++g) {
        s.cluster.home_rail.back().push_back(pick(0, s.cluster.rails - 1));
      }
    }
  }
  if (chance(40) && s.cluster.rails > 1) {
    if (wires == Wires::Bridges) {
      plug_into_bridges(s, rng);
    } else {
      s.cluster.ingress.resize(static_cast<std::size_t>(nodes));
      for (auto& row : s.cluster.ingress) {
        for (int n = 0; n < nodes; ++n) row.push_back(permutation(s.cluster.rails, rng));
      }
    }
  }
  if (chance(45) && s.cluster.rails > 1 && nodes > 1) {
    s.cluster.live.assign(static_cast<std::size_t>(nodes),
                          std::vector<bool>(static_cast<std::size_t>(s.cluster.rails), true));
    for (int i = pick(1, s.cluster.rails - 1); i > 0; --i) {
      s.cluster.live[static_cast<std::size_t>(pick(0, nodes - 1))]
                    [static_cast<std::size_t>(pick(0, s.cluster.rails - 1))] = false;
    }
    // A pair without an eligible rail is no cluster: all rails come back then.
    if (!railwave::Topology::create(s.cluster)) s.cluster.live.clear();
  }
  int ranks = 0;
  for (int n = 0; n < nodes; ++n) {
    for (int g = 0; g < s.cluster.ranks_per_node[static_cast<std::size_t>(n)]; ++g, ++ranks) {
      s.model.node_of_rank.push_back(n);
    }
  }
  s.experts = pick(1, 3 * ranks);
  for (int e = 0; e < s.experts; ++e) {
    const int base = s.experts / ranks;
    const int more = s.experts % ranks;
    s.model.owner.push_back(e < more * (base + 1)
                                ? e / (base + 1)
                                : more + (e - more * (base + 1)) / std::max(base, 1));
  }
  if (chance(30)) {
    for (int& owner : s.model.owner) owner = pick(0, ranks - 1);
    s.owner = s.model.owner;
  }
  s.model.top_k = pick(1, std::min(8, s.experts));
  s.model.hidden = pick(0, 1) == 0 ? pick(1, 9) : pick(10, 200);
  s.model.bf16 = chance(50);
  const bool empty_ranks = chance(45);
  const int most = chance(50) ? 64 : 9;
  for (int p = 0; p < ranks; ++p) {
    const int tokens = empty_ranks && chance(50) ? 0 : pick(0, most);
    s.model.idx.emplace_back();
    const bool hot = chance(20);
    for (int i = 0; i < tokens * s.model.top_k; ++i) {
      s.model.idx.back().push_back(chance(8) ? -1 : hot ? s.experts / 2 : pick(0, s.experts - 1));
    }
  }
  if (nodes > 1 && chance(50)) {
    std::vector<railwave::NodePair> pairs;
    for (int a = 0; a < nodes; ++a) {
      for (int b = 0; b < nodes; ++b) {
        if (a != b) pairs.push_back({NodeId(a), NodeId(b)});
      }
    }
    std::shuffle(pairs.begin(), pairs.end(), rng);
    while (!pairs.empty()) {
      const int size = std::min(pick(1, 2 * nodes), static_cast<int>(pairs.size()));
      s.windows.emplace_back(pairs.end() - size, pairs.end());
      pairs.resize(pairs.size() - static_cast<std::size_t>(size));
    }
  }
  if (chance(25)) {
    for (int n = 0; n < nodes; ++n) {
      s.cluster.weights.emplace_back();
      for (int r = 0; r < s.cluster.rails; ++r) s.cluster.weights.back().push_back(pick(1, 4));
    }
  }
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
  options.max_hidden = 200;
  options.widest_dtype = s.model.bf16 ? railwave::DType::BF16 : railwave::DType::FP32;
  options.max_top_k = s.model.top_k;
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

/// A path, and what the caller does before each call of the group (nothing by default).
struct Taking {
  Taking(
      railwave::Path path_, std::function<void()> before_ = [] {})
      : path(path_), before(std::move(before_)) {}
  railwave::Path path;
  std::function<void()> before;
};

/// Dispatches, checks every element of the received rows, hands random rows to combine and checks
/// every bit of the sums. A sentence for the first thing that is wrong, nothing when all is right.
/// `hash` gets a hash of the combined output.
inline std::optional<std::string> check(railwave::Communicator& group, RankId self, const Shape& s,
                                        const Taking& taking, std::uint64_t* hash = nullptr) {
  const reference::Model& m = s.model;
  const int p = self.value;
  const int tokens = m.tokens(self.index());
  const int width = m.bf16 ? 2 : 4;
  const std::string where = "seed " + std::to_string(s.seed) + ", path " +
                            std::string(to_string(taking.path)) + ", rank " + std::to_string(p) +
                            ": ";
  std::vector<std::byte> x(static_cast<std::size_t>(tokens * m.hidden * width));
  for (int t = 0; t < tokens; ++t) {
    for (int h = 0; h < m.hidden; ++h) {
      store(x.data() + static_cast<std::ptrdiff_t>(t) * m.hidden * width, h,
            value_of(s.seed, p, t, 0, h), m.bf16);
    }
  }
  std::vector<float> weights(m.idx[self.index()].size());
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<float>(i % 17) * 0.25F;
  railwave::DispatchArguments in;
  in.x = x.data();
  in.tokens = tokens;
  in.hidden = m.hidden;
  in.dtype = m.bf16 ? railwave::DType::BF16 : railwave::DType::FP32;
  in.top_k = m.top_k;
  in.topk_idx = m.idx[self.index()];
  in.topk_weights = weights;
  in.path = taking.path;
  in.windows = s.windows;
  taking.before();
  auto received = group.dispatch(in);
  if (!received) return where + to_string(received.error());
  const std::vector<reference::Row> rows = reference::received_rows(m, p);
  if (received->rows != static_cast<std::int64_t>(rows.size())) return where + "wrong row count";
  std::vector<std::byte> expected(static_cast<std::size_t>(m.hidden * width));
  std::vector<std::byte> back(static_cast<std::size_t>(received->rows) * expected.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (int h = 0; h < m.hidden; ++h) {
      store(expected.data(), h, value_of(s.seed, rows[i].source, rows[i].token, 0, h), m.bf16);
      store(back.data() + i * expected.size(), h,
            value_of(s.seed, rows[i].source, rows[i].token, p + 1, h), m.bf16);
    }
    if (std::memcmp(received->x + i * expected.size(), expected.data(), expected.size()) != 0) {
      return where + "row " + std::to_string(i) + " is wrong";
    }
    for (int k = 0; k < m.top_k; ++k) {
      const auto slot = static_cast<std::size_t>(rows[i].token * m.top_k + k);
      const std::int64_t e = m.idx[static_cast<std::size_t>(rows[i].source)][slot];
      const bool mine = e >= 0 && m.owner[static_cast<std::size_t>(e)] == p;
      std::int64_t local = -1;
      if (mine) {
        local = 0;
        for (std::int64_t f = 0; f < e; ++f) local += m.owner[static_cast<std::size_t>(f)] == p;
      }
      const float weight = mine ? static_cast<float>(slot % 17) * 0.25F : 0.0F;
      const auto at = i * static_cast<std::size_t>(m.top_k) + static_cast<std::size_t>(k);
      if (received->topk_idx[at] != local || received->topk_weights[at] != weight) {
        return where + "slot " + std::to_string(k) + " of row " + std::to_string(i) + " is wrong";
      }
    }
  }
  std::vector<std::byte> out(x.size(), std::byte{0xa5});
  railwave::CombineArguments co;
  co.handle = received->handle;
  co.x = back.data();
  co.rows = received->rows;
  co.hidden = m.hidden;
  co.dtype = in.dtype;
  co.out = out;
  taking.before();
  const auto combined = group.combine(co);
  if (!combined) return where + to_string(combined.error());
  const std::vector<float> y = reference::combined(m, p, [&](int q, int source, int token, int h) {
    return value_of(s.seed, source, token, q + 1, h);
  });
  for (std::size_t i = 0; i < y.size(); ++i) {
    std::byte want[4];
    store(want, 0, y[i], m.bf16);
    if (std::memcmp(out.data() + i * static_cast<std::size_t>(width), want,
                    static_cast<std::size_t>(width)) != 0) {
      return where + "combined element " + std::to_string(i) + " is wrong";
    }
  }
  if (hash != nullptr) {
    for (const std::byte b : out) *hash = mix(*hash ^ static_cast<std::uint64_t>(b));
  }
  return std::nullopt;
}

}  // namespace phases
