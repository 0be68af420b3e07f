// A layer of a trace as traffic, against the definitions.
#include "workload/trace_traffic.hpp"

#include <map>
#include <numeric>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace railwave::workload {
namespace {

using ::testing::ElementsAre;
using Counts = std::vector<std::int64_t>;

Traffic traffic_of(const Trace& trace, const Topology& topology, int layer = 0) {
  const auto placement = Placement::contiguous(trace.experts(), topology.ranks()).value();
  auto traffic = layer_traffic(trace, layer, topology, placement);
  if (!traffic) ADD_FAILURE() << to_string(traffic.error());
  return *std::move(traffic);
}

TEST(TraceTraffic, ATokenIsOneRowForEachNodeAndRank) {
  // 2 nodes x 2 ranks, 8 experts, two a rank; 3 tokens on ranks 0, 1, 2 and none on 3.
  const auto trace = Trace::from_ids({1, 3, 3, 8}, {0, 1, 7,  // rank 0: ranks 0, 0, 3
                                                    4, 5, 6,  // rank 1: ranks 2, 2, 3
                                                    2, Trace::kNoExpert, Trace::kNoExpert})
                         .value();
  const auto t = traffic_of(trace, Topology::uniform(2, 2, 2).value());
  EXPECT_EQ(t.tokens, 3);
  EXPECT_THAT(t.expert_counts, ElementsAre(1, 1, 1, 0, 1, 1, 1, 1));
  EXPECT_THAT(t.rank_rows, ElementsAre(1, 0, 0, 1, 0, 0, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(t.node_rows, ElementsAre(1, 1, 0, 1, 1, 0, 0, 0));
}

TEST(TraceTraffic, UnknownSourcesAreAlike) {
  const auto trace = Trace::from_counts({1, 1, 2}, {10, 3}).value();
  const auto t = traffic_of(trace, Topology::uniform(2, 2, 2).value());
  // 4 ranks; expert 0 is rank 0's: 3, 3, 2, 2; expert 1 is rank 1's: 0, 1, 1, 1.
  EXPECT_THAT(t.rank_rows, ElementsAre(3, 0, 0, 0, 3, 1, 0, 0, 2, 1, 0, 0, 2, 1, 0, 0));
  EXPECT_EQ(t.tokens, 0);
}

TEST(TraceTraffic, MoreSourcesThanRanksAndFewer) {
  const auto four = Trace::from_counts({1, 4, 1}, {1, 2, 4, 8}).value();
  EXPECT_THAT(traffic_of(four, Topology::uniform(2, 1, 1).value()).rank_rows,
              ElementsAre(3, 0, 12, 0));
  const auto two = Trace::from_counts({1, 2, 1}, {5, 8}).value();
  // Five ranks: floor(p 2 / 5) is 0, 0, 0, 1, 1.
  const auto t = traffic_of(two, Topology::uniform(5, 1, 1).value());
  EXPECT_THAT(t.node_rows, ElementsAre(2, 0, 0, 0, 0,  //
                                       2, 0, 0, 0, 0,  //
                                       1, 0, 0, 0, 0,  //
                                       4, 0, 0, 0, 0,  //
                                       4, 0, 0, 0, 0));
}

TEST(TraceTraffic, RoutedRowsAreThoseOfTheTokensThatAreKept) {
  // Two tokens on rank 0, one on the others; experts 0 to 3 are on node 0, 4 to 7 on node 1.
  const auto trace = Trace::from_ids({1, 5, 3, 8}, {0, 1, 7,  // rank 0: nodes 0, 1
                                                    6, 6, 6,  // rank 0: node 1
                                                    4, 5, 6,  // rank 1: node 1
                                                    2, Trace::kNoExpert,
                                                    Trace::kNoExpert,  // rank 2: node 0
                                                    0, 0, 7})          // rank 3: nodes 0, 1
                         .value();
  const auto topology = Topology::uniform(2, 2, 2).value();
  const auto placement = Placement::contiguous(8, 4).value();
  const auto rows = [&](std::optional<std::int64_t> most) {
    return routed_node_rows(trace, 0, topology, placement, most).value();
  };
  EXPECT_THAT(rows({}), ElementsAre(1, 2, 0, 1, 1, 0, 1, 1));
  EXPECT_THAT(rows(1), ElementsAre(1, 1, 0, 1, 1, 0, 1, 1));
  EXPECT_THAT(rows(0), ElementsAre(0, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_EQ(rows({}), traffic_of(trace, topology).node_rows);
  const auto counts = Trace::from_counts({1, 1, 8}, Counts(8, 1)).value();
  EXPECT_EQ(routed_node_rows(counts, 0, topology, placement, {}).error().field, "routing");
  EXPECT_EQ(routed_node_rows(trace, 1, topology, placement, {}).error().field, "layer");
}

TEST(TraceTraffic, RefusesWhatDoesNotFit) {
  const auto trace = Trace::from_counts({1, 1, 4}, {1, 1, 1, 1}).value();
  const auto topology = Topology::uniform(2, 1, 1).value();
  const auto field = [&](int layer, int experts, int ranks) {
    return layer_traffic(trace, layer, topology, Placement::contiguous(experts, ranks).value())
        .error()
        .field;
  };
  EXPECT_EQ(field(1, 4, 2), "layer");
  EXPECT_EQ(field(-1, 4, 2), "layer");
  EXPECT_EQ(field(0, 5, 2), "placement");
  EXPECT_EQ(field(0, 4, 3), "placement");
}

struct Shape {
  int nodes, local, experts;
  [[nodiscard]] int ranks() const { return nodes * local; }
  [[nodiscard]] int owner(std::int64_t e) const {
    const int size = experts / ranks();
    const int more = experts % ranks();
    return static_cast<int>(e < more * (size + 1) ? e / (size + 1) : (e - more) / size);
  }
};

Shape random_shape() {
  return {*rc::gen::inRange(1, 5), *rc::gen::inRange(1, 4), *rc::gen::inRange(1, 20)};
}

RC_GTEST_PROP(TraceTraffic, IdsAreCountedOncePerTokenAndPlace, ()) {
  const Shape shape = random_shape();
  const int top_k = *rc::gen::inRange(1, std::min(shape.experts, 4) + 1);
  const auto tokens = *rc::gen::inRange<std::int64_t>(0, 30);
  const auto ids = *rc::gen::container<std::vector<std::uint16_t>>(
      static_cast<std::size_t>(tokens * top_k),
      rc::gen::map(rc::gen::inRange(-1, shape.experts),
                   [](int id) { return static_cast<std::uint16_t>(id); }));
  const auto trace = Trace::from_ids({1, tokens, top_k, shape.experts}, ids);
  RC_ASSERT(trace.has_value());
  const auto t = traffic_of(*trace, Topology::uniform(shape.nodes, shape.local, 2).value());

  const int ranks = shape.ranks();
  std::map<std::pair<int, int>, Counts::value_type> to_rank;
  std::map<std::pair<int, int>, Counts::value_type> to_node;
  Counts experts(static_cast<std::size_t>(shape.experts), 0);
  std::int64_t next = 0;
  for (int p = 0; p < ranks; ++p) {
    for (std::int64_t i = tokens / ranks + (p < tokens % ranks ? 1 : 0); i > 0; --i, ++next) {
      std::set<int> places;
      std::set<int> nodes;
      for (int k = 0; k < top_k; ++k) {
        const auto id = ids[static_cast<std::size_t>(next * top_k + k)];
        if (id == 0xffff) continue;
        ++experts[id];
        places.insert(shape.owner(id));
        nodes.insert(shape.owner(id) / shape.local);
      }
      for (const int q : places) ++to_rank[{p, q}];
      for (const int n : nodes) ++to_node[{p, n}];
    }
  }
  RC_ASSERT(t.expert_counts == experts);
  for (int p = 0; p < ranks; ++p) {
    for (int q = 0; q < ranks; ++q) {
      RC_ASSERT((t.rank_rows[static_cast<std::size_t>(p * ranks + q)] == to_rank[{p, q}]));
    }
    for (int n = 0; n < shape.nodes; ++n) {
      RC_ASSERT((t.node_rows[static_cast<std::size_t>(p * shape.nodes + n)] == to_node[{p, n}]));
    }
  }
}

RC_GTEST_PROP(TraceTraffic, CountsAreConservedPerSourceAndExpert, ()) {
  const Shape shape = random_shape();
  const int sources = *rc::gen::inRange(1, 20);
  const auto counts = *rc::gen::container<Counts>(static_cast<std::size_t>(sources * shape.experts),
                                                  rc::gen::inRange<std::int64_t>(0, 50));
  const auto trace = Trace::from_counts({1, sources, shape.experts}, counts);
  RC_ASSERT(trace.has_value());
  const auto t = traffic_of(*trace, Topology::uniform(shape.nodes, shape.local, 1).value());
  const int ranks = shape.ranks();
  // What a source sends to a rank arrives from the ranks that are the source.
  std::map<std::pair<int, int>, std::int64_t> want;
  std::map<std::pair<int, int>, std::int64_t> have;
  for (int i = 0; i < sources; ++i) {
    const int group = sources >= ranks ? i * ranks / sources : i;
    for (int e = 0; e < shape.experts; ++e) {
      want[{group, shape.owner(e)}] += counts[static_cast<std::size_t>(i * shape.experts + e)];
    }
  }
  for (int p = 0; p < ranks; ++p) {
    const int group = sources >= ranks ? p : p * sources / ranks;
    for (int q = 0; q < ranks; ++q) {
      have[{group, q}] += t.rank_rows[static_cast<std::size_t>(p * ranks + q)];
    }
  }
  for (auto& [key, rows] : have) RC_ASSERT(rows == want[key]);
  for (auto& [key, rows] : want) RC_ASSERT(rows == have[key]);
  const auto sum = [](const Counts& c) { return std::accumulate(c.begin(), c.end(), 0LL); };
  RC_ASSERT(sum(t.node_rows) == sum(t.rank_rows));
  // Ranks of one source differ by at most one row an expert.
  for (int p = 0; sources < ranks && p + 1 < ranks; ++p) {
    if (p * sources / ranks != (p + 1) * sources / ranks) continue;
    for (int q = 0; q < ranks; ++q) {
      const auto a = t.rank_rows[static_cast<std::size_t>(p * ranks + q)];
      const auto b = t.rank_rows[static_cast<std::size_t>((p + 1) * ranks + q)];
      RC_ASSERT(std::abs(a - b) <= shape.experts / ranks + 1);
    }
  }
}

}  // namespace
}  // namespace railwave::workload
