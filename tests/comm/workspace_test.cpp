// The memory formula of docs/workspace.md, computed here from the page, against what a group says.
// What a group really takes is in workspace_cluster_test.cpp.
#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "group/thread_world.hpp"

namespace {

using railwave::CommunicatorOptions;
using railwave::DType;
using railwave::Placement;
using railwave::RankId;
using railwave::Topology;
using std::int64_t;

int64_t up(int64_t bytes, int64_t unit = 64) { return (bytes + unit - 1) / unit * unit; }
int64_t ceil_of(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// A cluster whose home rails, drivers and rails are the defaults.
struct Plain {
  std::vector<int> ranks;  // of each node
  int rails = 1;
  [[nodiscard]] int nodes() const { return static_cast<int>(ranks.size()); }
  [[nodiscard]] int at(int node) const { return ranks[static_cast<std::size_t>(node)]; }
  [[nodiscard]] int all() const {
    int sum = 0;
    for (const int n : ranks) sum += n;
    return sum;
  }
  /// Local ranks whose home rail is r; nobody's rail belongs to rank floor(r G / R).
  [[nodiscard]] std::vector<int> homed(int node, int r) const {
    std::vector<int> out;
    for (int l = 0; l < at(node); ++l) {
      if (l * rails / at(node) == r) out.push_back(l);
    }
    return out;
  }
  [[nodiscard]] std::vector<int> drivers(int node, int r) const {
    auto out = homed(node, r);
    if (out.empty()) out.push_back(r * at(node) / rails);
    return out;
  }
};

struct Sizes {
  int64_t tokens, recv_rows, row, meta;
  int top_k;
  int64_t shared;
  int64_t phases;
};

struct Stage {
  int64_t bytes = 0;
  int64_t streams = 0;
};

/// What can end at local rank `local` of `node`, from all other nodes. Stream i of a rail joins the
/// i-th driver of the sending node of the dispatch to driver i mod n of the receiving one.
Stage stage_of(const Plain& c, const Sizes& z, int node, int local, bool combine) {
  Stage stage;
  for (int other = 0; other < c.nodes(); ++other) {
    if (other == node) continue;
    const int from = combine ? node : other;  // of the dispatch
    const int to = combine ? other : node;
    for (int r = 0; r < c.rails; ++r) {
      const auto near = c.drivers(from, r);
      const auto far = c.drivers(to, r);
      // Unbalanced: all tokens of the ranks at home there; balanced: an equal share of the node's.
      const int64_t most = std::max(z.tokens * static_cast<int64_t>(c.homed(from, r).size()),
                                    ceil_of(z.tokens * c.at(from), c.rails));
      for (std::size_t i = 0; i < near.size(); ++i) {
        if ((combine ? near[i] : far[i % far.size()]) != local) continue;
        const int64_t records = ceil_of(most, static_cast<int64_t>(near.size()));
        stage.bytes += records * up(z.row + (combine ? up(4 * z.top_k, 8) : z.meta));
        ++stage.streams;
      }
    }
  }
  return stage;
}

int64_t segment_of(const Plain& c, const Sizes& z, int node, int local) {
  const int64_t nodes = c.nodes();
  const Stage forth = stage_of(c, z, node, local, false);
  const Stage back = stage_of(c, z, node, local, true);
  const int64_t header = 48 + 4 * (nodes + c.all());
  const int64_t most = *std::max_element(c.ranks.begin(), c.ranks.end());
  int64_t sum = 0;
  const int64_t d = z.phases;
  for (const int64_t words : {4 + d, d * c.rails, d * c.rails * nodes, 2 * nodes, 2 * nodes,
                              d * std::max(forth.streams, back.streams)}) {
    sum += up(8 * words);
  }
  sum += (d + 1) * 64;  // where rows lie
  sum += 2 * up(header) + 2 * nodes * up(most * header);
  sum += (d + 1) * up(up(std::max(z.tokens, z.recv_rows) * z.row) +
                      std::max(z.tokens * std::min<int64_t>(nodes, z.top_k) * z.meta,
                               4 * z.recv_rows * z.top_k));
  return sum + d * std::max(forth.bytes, back.bytes) + up(z.shared);
}

Sizes sizes_of(const CommunicatorOptions& o) {
  const int64_t fp8 = o.max_hidden + 4 * ceil_of(o.max_hidden, 128);
  return {o.max_tokens_per_rank,
          o.max_recv_rows,
          std::max(o.max_hidden * element_bytes(o.widest_dtype), fp8),
          up(8 + 12 * o.max_top_k, 8),
          o.max_top_k,
          o.shared_bytes,
          o.phases_in_flight};
}

/// What rank `local` of `node` can have to send on rail r: where chi is the identity, what can come
/// back to it.
int64_t frames_of(const Plain& c, const Sizes& z, int node, int local, int r) {
  int64_t forth = 0;
  int64_t back = 0;
  for (int other = 0; other < c.nodes(); ++other) {
    if (other == node) continue;
    for (const bool combine : {false, true}) {
      const int from = combine ? other : node;  // of the dispatch
      const auto near = c.drivers(from, r);
      const auto far = c.drivers(combine ? node : other, r);
      const int64_t most = std::max(z.tokens * static_cast<int64_t>(c.homed(from, r).size()),
                                    ceil_of(z.tokens * c.at(from), c.rails));
      for (std::size_t i = 0; i < near.size(); ++i) {
        if ((combine ? far[i % far.size()] : near[i]) != local) continue;
        const int64_t records = ceil_of(most, static_cast<int64_t>(near.size()));
        (combine ? back : forth) += records * up(z.row + (combine ? up(4 * z.top_k, 8) : z.meta));
      }
    }
  }
  return std::max(forth, back);
}

int64_t slots_of(const Plain& c, const CommunicatorOptions& o, int node, int local) {
  const Sizes z = sizes_of(o);
  int64_t bytes = 0;
  for (int r = 0; r < c.rails && c.nodes() > 1; ++r) {
    const auto drivers = c.drivers(node, r);
    if (std::count(drivers.begin(), drivers.end(), local) == 0) continue;
    bytes += o.send_slots * std::max(o.chunk_bytes, z.row + z.meta);
    if (o.packing == railwave::Packing::Pipelined) continue;
    bytes += o.phases_in_flight * frames_of(c, z, node, local, r);
  }
  return bytes;
}

CommunicatorOptions options(int64_t tokens, int64_t hidden, DType dtype, int top_k,
                            int64_t recv_rows, int64_t shared = 0) {
  CommunicatorOptions o;
  o.max_tokens_per_rank = tokens;
  o.max_hidden = hidden;
  o.widest_dtype = dtype;
  o.max_top_k = top_k;
  o.max_recv_rows = recv_rows;
  o.shared_bytes = shared;
  return o;
}

CommunicatorOptions with_phases(int phases, CommunicatorOptions o) {
  o.phases_in_flight = phases;
  return o;
}

CommunicatorOptions packed(railwave::Packing packing, CommunicatorOptions o) {
  o.packing = packing;
  return o;
}

struct Size {
  Plain cluster;
  CommunicatorOptions options;
};

const std::vector<Size>& sizes() {
  static const std::vector<Size> all{
      {{{8, 8, 8, 8}, 8}, options(4096, 7168, DType::BF16, 8, 32 * 4096)},  // the page's example
      {{{8, 8, 8, 8}, 8}, options(4096, 7168, DType::BF16, 8, 8192)},
      {{{2, 5, 3}, 4}, options(37, 130, DType::FP32, 3, 370, 1000)},  // nothing divides anything
      {{{2, 5, 3}, 4}, with_phases(3, options(37, 130, DType::FP32, 3, 370, 1000))},
      {{{2, 5, 3}, 4},
       packed(railwave::Packing::Sequential,
              with_phases(2, options(37, 130, DType::FP32, 3, 370, 1000)))},
      {{{2, 3}, 2}, packed(railwave::Packing::Prepacked, options(9, 3, DType::BF16, 2, 5))},
      {{{4}, 2}, options(100, 64, DType::BF16, 2, 400)},  // one node
      {{{1, 1}, 1}, options(37, 3, DType::BF16, 2, 5)},   // fp8 rows and weights take the most
      // 2^31 + 6144 bytes of rows
      {{{1, 1}, 1}, options(149'797, 7168, DType::BF16, 1, 2 * 149'797)}};
  return all;
}

TEST(Workspace, IsWhatThePageSays) {
  for (const Size& size : sizes()) {
    const Plain& c = size.cluster;
    const auto topology = Topology::create({c.ranks, c.rails});
    int self = 0;
    for (int node = 0; node < c.nodes(); ++node) {
      for (int local = 0; local < c.at(node); ++local, ++self) {
        CommunicatorOptions o = size.options;
        o.self = RankId(self);
        const auto said = railwave::workspace_size(*topology, o);
        ASSERT_TRUE(said) << to_string(said.error());
        EXPECT_EQ(said->segment, segment_of(c, sizes_of(o), node, local)) << "rank " << self;
        EXPECT_EQ(said->send_slots, slots_of(c, o, node, local)) << "rank " << self;
      }
    }
  }
}

// The numbers of docs/workspace.md, so that page, test and code cannot drift apart together.
TEST(Workspace, WorkedExample) {
  const auto said = railwave::workspace_size(*Topology::uniform(4, 8, 8),
                                             options(4096, 7168, DType::BF16, 8, 8192));
  ASSERT_TRUE(said);
  EXPECT_EQ(said->segment, 416'035'904);
  EXPECT_EQ(said->send_slots, 262'144);
  const auto two = railwave::workspace_size(
      *Topology::uniform(4, 8, 8), with_phases(2, options(4096, 7168, DType::BF16, 8, 8192)));
  ASSERT_TRUE(two);
  EXPECT_EQ(two->segment, 712'914'368);
}

TEST(Workspace, RefusesARankThatIsNone) {
  CommunicatorOptions o = options(1, 1, DType::BF16, 1, 1);
  o.self = RankId(4);
  const auto said = railwave::workspace_size(*Topology::uniform(2, 2, 1), o);
  ASSERT_FALSE(said);
  EXPECT_EQ(said.error().field, "self");
}

TEST(Workspace, IsSaidByTheGroup) {
  for (const Size& size : {sizes()[2], sizes()[3], sizes()[4], sizes()[6]}) {
    const auto topology = Topology::create({size.cluster.ranks, size.cluster.rails});
    const auto placement = *Placement::contiguous(topology->ranks(), topology->ranks());
    const auto of = [&](RankId self) {
      CommunicatorOptions o = size.options;
      o.self = self;
      return o;
    };
    world::run(
        *topology, [&](RankId) { return placement; }, of,
        [&](RankId self, auto& group) {
          ASSERT_TRUE(group) << to_string(group.error());
          const auto said = railwave::workspace_size(*topology, of(self));
          EXPECT_EQ(group->workspace().segment, said->segment);
          EXPECT_EQ(group->workspace().send_slots, said->send_slots);
        });
  }
}

}  // namespace
