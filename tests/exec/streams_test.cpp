// Streams against DESIGN 5.1: slot j of rail r is sent by drivers(s,r)[j mod n] and received by
// drivers(d, chi(r))[i mod n_d], i the sender's index, in parts where a pair sends in several
// windows; and what the segments reserve for them.
#include "exec/streams.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "exec/record.hpp"
#include "exec/segment_map.hpp"
#include "group/random_phase.hpp"

namespace {

using railwave::NodeId;
using railwave::NodePair;
using railwave::RailId;
using railwave::RankId;
using railwave::Topology;
using railwave::exec::ChunkShape;
using railwave::exec::Limits;
using railwave::exec::Operation;
using railwave::exec::RecordOwner;
using railwave::exec::RecordPlace;
using railwave::exec::SegmentMap;
using railwave::exec::StepCounts;
using railwave::exec::Stream;
using railwave::plan::DispatchPlan;

constexpr std::int64_t kMostTokens = 23;
constexpr int kTopK = 5;

struct Case {
  Topology topology;
  StepCounts counts;
  DispatchPlan plan;
  Limits limits;
};

/// A random cluster with counts up to kMostTokens for each (rank, node); all of them `full`.
Case draw(std::uint64_t seed, railwave::Path path, bool full) {
  const phases::Shape shape = phases::draw(seed);
  Topology topology = *Topology::create(shape.cluster);
  std::mt19937_64 rng(seed);
  StepCounts counts;
  counts.nodes = topology.nodes();
  counts.ranks = topology.ranks();
  for (int i = 0; i < topology.ranks() * topology.nodes(); ++i) {
    const auto some = rng() % 3 == 0 ? 0 : static_cast<std::int64_t>(rng() % (kMostTokens + 1));
    counts.records.push_back(full ? kMostTokens : some);
  }
  const auto rail_counts = railwave::RailCounts::from_ranks(topology, counts.records);
  DispatchPlan plan = *DispatchPlan::create(topology, rail_counts, {path, shape.windows});
  Limits limits;
  limits.max_tokens = kMostTokens;
  limits.max_recv_rows = 100;
  limits.max_row_bytes = 1 + static_cast<std::int64_t>(seed % 100);
  limits.max_top_k = kTopK;
  limits.chunk_bytes = 1 + static_cast<std::int64_t>(rng() % 700);
  return {std::move(topology), std::move(counts), std::move(plan), limits};
}

using Key = railwave::exec::StreamKey;

/// The pair's windows take each rail's slots one after the other: which of them takes `slot`.
int part_by_definition(const Case& c, NodePair pair, RailId rail, std::int64_t slot) {
  int part = 0;
  for (const std::size_t window : c.plan.windows_of(pair)) {
    slot -= c.plan.rail_loads(pair, window)[rail.index()];
    if (slot < 0) break;
    ++part;
  }
  return part;
}

/// Who owns each record of each stream of one slice, in stream order, from the definition.
std::map<Key, std::vector<std::pair<int, std::int64_t>>> owners_by_definition(const Case& c,
                                                                              NodePair pair) {
  std::map<Key, std::vector<std::pair<int, std::int64_t>>> out;
  std::vector<std::vector<std::pair<int, std::int64_t>>> at_home(
      static_cast<std::size_t>(c.topology.rails()));
  for (int local = 0; local < c.topology.ranks_at(pair.source); ++local) {
    const RankId rank = c.topology.rank_at(pair.source, local);
    for (std::int64_t i = 0; i < c.counts.records_of(rank, pair.destination); ++i) {
      at_home[c.topology.home_rail(rank).index()].push_back({local, i});
    }
  }
  const auto slice = c.plan.slice(pair);
  for (const auto& segment : slice.by_rail) {  // ascending (rail, slot)
    const auto n = static_cast<std::int64_t>(c.topology.drivers(pair.source, segment.rail).size());
    for (std::int64_t i = 0; i < segment.count; ++i) {
      const int lane = static_cast<int>((segment.slot + i) % n);
      const int part = part_by_definition(c, pair, segment.rail, segment.slot + i);
      out[{pair, segment.rail, lane, part}].push_back(
          at_home[segment.home.index()][static_cast<std::size_t>(segment.first + i)]);
    }
  }
  return out;
}

void check_ends(const Case& c, const Stream& stream, Operation direction) {
  const RailId far = c.topology.ingress(stream.pair.source, stream.pair.destination, stream.rail);
  const auto near_drivers = c.topology.drivers(stream.pair.source, stream.rail);
  const auto far_drivers = c.topology.drivers(stream.pair.destination, far);
  const auto lane = static_cast<std::size_t>(stream.lane);
  const RankId owner_side = near_drivers[lane];
  const RankId expert_side = far_drivers[lane % far_drivers.size()];
  const bool forth = direction == Operation::Dispatch;
  ASSERT_EQ(stream.sender, forth ? owner_side : expert_side);
  ASSERT_EQ(stream.receiver, forth ? expert_side : owner_side);
  ASSERT_EQ(stream.sender_rail, forth ? stream.rail : far);
  ASSERT_EQ(stream.receiver_rail, forth ? far : stream.rail);
  ASSERT_EQ(stream.window, c.plan.windows_of(stream.pair)[static_cast<std::size_t>(stream.part)]);
}

/// Every record of the slice is in one stream, at both ends, with the owners of the definition.
void check_slice(const Case& c, NodePair pair, Operation direction, const ChunkShape& shape) {
  const bool forth = direction == Operation::Dispatch;
  const NodeId sender = forth ? pair.source : pair.destination;
  const NodeId receiver = forth ? pair.destination : pair.source;
  auto expected = owners_by_definition(c, pair);
  std::map<Key, std::int64_t> coming;
  for (const Stream& s : railwave::exec::node_streams(c.plan, receiver, direction, shape).inbound) {
    if (s.pair == pair) coming[s] = s.records;
  }
  std::size_t leaving = 0;
  std::map<std::pair<RailId, int>, std::int64_t> of_lane;  // records in the windows before
  for (const Stream& s : railwave::exec::node_streams(c.plan, sender, direction, shape).outbound) {
    if (s.pair != pair) continue;
    ++leaving;
    check_ends(c, s, direction);
    const auto& owners = expected[s];
    ASSERT_EQ(s.records, static_cast<std::int64_t>(owners.size()));
    ASSERT_EQ(coming[s], s.records);
    std::int64_t& before = of_lane[{s.rail, s.lane}];
    ASSERT_EQ(s.first, before);
    before += s.records;
    const auto found = railwave::exec::record_owners(c.plan, c.counts, s);
    ASSERT_EQ(found.size(), owners.size());
    for (std::size_t i = 0; i < owners.size(); ++i) {
      ASSERT_EQ(found[i].local, owners[i].first);
      ASSERT_EQ(found[i].index, owners[i].second);
    }
  }
  ASSERT_EQ(leaving, expected.size());
  ASSERT_EQ(coming.size(), expected.size());
}

/// What owners believe of their records' places is what the streams say.
void check_places(const Case& c, NodePair pair) {
  auto expected = owners_by_definition(c, pair);
  std::map<std::pair<int, std::int64_t>, std::pair<Key, std::int64_t>> at;
  for (const auto& [key, owners] : expected) {
    for (std::size_t i = 0; i < owners.size(); ++i) {
      const bool fresh = at.insert({owners[i], {key, static_cast<std::int64_t>(i)}}).second;
      ASSERT_TRUE(fresh) << "a record twice";
    }
  }
  std::size_t records = 0;
  for (int local = 0; local < c.topology.ranks_at(pair.source); ++local) {
    const RankId owner = c.topology.rank_at(pair.source, local);
    const auto places = railwave::exec::record_places(c.plan, c.counts, owner, pair.destination);
    ASSERT_EQ(static_cast<std::int64_t>(places.size()),
              c.counts.records_of(owner, pair.destination));
    for (std::size_t i = 0; i < places.size(); ++i, ++records) {
      const RecordPlace& place = places[i];
      ASSERT_EQ((at[{local, static_cast<std::int64_t>(i)}]),
                std::make_pair(Key{pair, place.rail, place.lane, place.part}, place.position));
    }
  }
  ASSERT_EQ(records, at.size());
}

/// Stage places of one node's receivers: apart from each other and within what is reserved.
void check_stage(const Case& c, NodeId node, Operation direction, const ChunkShape& shape) {
  std::map<RankId, std::map<std::int64_t, std::int64_t>> places;  // receiver: begin -> end
  std::map<RankId, std::map<int, Key>> lanes;  // receiver: ordinal -> its lane, as part 0
  for (const Stream& s : railwave::exec::node_streams(c.plan, node, direction, shape).inbound) {
    ASSERT_EQ(s.stride, shape.stride());
    ASSERT_TRUE(places[s.receiver]
                    .insert({s.stage_offset, s.stage_offset + shape.stage_bytes(s.records)})
                    .second);
    const Key lane{s.pair, s.rail, s.lane, 0};
    ASSERT_EQ(lanes[s.receiver].insert({s.ordinal, lane}).first->second, lane);
  }
  for (const auto& [receiver, spans] : places) {
    const SegmentMap map = SegmentMap::of(c.topology, c.limits, receiver);
    std::int64_t end = 0;
    for (const auto& [first, last] : spans) {
      ASSERT_GE(first, end) << "two streams in one place";
      ASSERT_EQ(first % 64, 0);
      end = last;
    }
    ASSERT_LE(end, map.stage_bytes);
    ASSERT_LE(map.stage + map.stage_bytes, map.bytes);
    std::set<Key> once;
    for (const auto& [ordinal, lane] : lanes[receiver]) {
      ASSERT_TRUE(once.insert(lane).second) << "two words for one lane";
      ASSERT_LE(map.stream_words + 8 * (ordinal + 1), map.header) << "a word of the next region";
    }
  }
}

void check_case(const Case& c) {
  for (const Operation direction : {Operation::Dispatch, Operation::Combine}) {
    const std::int64_t meta =
        direction == Operation::Dispatch ? railwave::exec::record_meta_bytes(kTopK) : 0;
    const ChunkShape shape = ChunkShape::of(meta, c.limits.max_row_bytes, c.limits.chunk_bytes);
    for (int s = 0; s < c.topology.nodes(); ++s) {
      check_stage(c, NodeId(s), direction, shape);
      for (int d = 0; d < c.topology.nodes(); ++d) {
        if (s == d) continue;
        check_slice(c, {NodeId(s), NodeId(d)}, direction, shape);
        if (direction == Operation::Dispatch) check_places(c, {NodeId(s), NodeId(d)});
      }
    }
  }
}

/// The paths that are chosen from, then the baselines.
std::vector<railwave::Path> every_path() {
  std::vector<railwave::Path> paths;
  for (const auto& some : {railwave::kAllPaths, railwave::kBaselinePaths}) {
    for (const auto path : some) paths.push_back(path);
  }
  return paths;
}

/// Most windows in which one pair sends.
std::size_t most_parts(const DispatchPlan& plan) {
  std::size_t most = 0;
  for (int s = 0; s < plan.topology().nodes(); ++s) {
    for (int d = 0; d < plan.topology().nodes(); ++d) {
      if (s != d) most = std::max(most, plan.windows_of({NodeId(s), NodeId(d)}).size());
    }
  }
  return most;
}

TEST(Streams, FollowTheDefinitionOnRandomClusters) {
  const auto paths = every_path();
  int in_parts = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const auto path = paths[seed % paths.size()];
    SCOPED_TRACE(testing::Message() << "seed " << seed << ", path " << to_string(path));
    const Case c = draw(seed, path, false);
    in_parts += most_parts(c.plan) > 2 ? 1 : 0;
    check_case(c);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(in_parts, 10);
}

TEST(Streams, LargestAdmissibleCountsFitTheStage) {
  for (std::uint64_t seed = 1000; seed < 1080; ++seed) {
    for (const auto path : every_path()) {
      SCOPED_TRACE(testing::Message() << "seed " << seed << ", path " << to_string(path));
      const Case c = draw(seed, path, true);
      for (const Operation direction : {Operation::Dispatch, Operation::Combine}) {
        const std::int64_t meta =
            direction == Operation::Dispatch ? railwave::exec::record_meta_bytes(kTopK) : 0;
        const ChunkShape shape = ChunkShape::of(meta, c.limits.max_row_bytes, c.limits.chunk_bytes);
        for (int n = 0; n < c.topology.nodes(); ++n) check_stage(c, NodeId(n), direction, shape);
      }
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Streams, OneNodeHasNone) {
  const auto topology = *Topology::uniform(1, 4, 2);
  const railwave::RailCounts counts(1, 2);
  const DispatchPlan plan = *DispatchPlan::create(topology, counts, {});
  const auto streams =
      railwave::exec::node_streams(plan, NodeId(0), Operation::Dispatch, ChunkShape::of(8, 8, 64));
  EXPECT_TRUE(streams.inbound.empty());
  EXPECT_TRUE(streams.outbound.empty());
}

/// Of steps that may be under way at once none finds the other's words, rows or stage.
TEST(SegmentMap, StepsUnderWayLieApart) {
  for (const int phases : {1, 2, 3}) {
    Case c = draw(7, railwave::Path::Joint, false);
    c.limits.phases = phases;
    const SegmentMap map = SegmentMap::of(c.topology, c.limits, RankId(0));
    for (std::uint64_t step = 1; step <= 7; ++step) {
      for (std::uint64_t later = step + 1; later <= step + static_cast<std::uint64_t>(phases);
           ++later) {
        EXPECT_GE(std::abs(map.rows_of(step) - map.rows_of(later)), map.rows_stride);
        EXPECT_NE(map.rows_place_of(step), map.rows_place_of(later));
        if (later == step + static_cast<std::uint64_t>(phases)) continue;  // `step` is over then
        EXPECT_GE(std::abs(map.stage_of(step) - map.stage_of(later)), map.stage_bytes);
        EXPECT_NE(map.read_word(step), map.read_word(later));
        EXPECT_NE(map.level_word(step, RailId(0)), map.level_word(later, RailId(0)));
        EXPECT_NE(map.stream_word(step, 0), map.stream_word(later, 0));
      }
    }
  }
}

TEST(SegmentMap, RegionsFollowEachOtherWithoutOverlap) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Case c = draw(seed, railwave::Path::Joint, false);
    c.limits.phases = 1 + static_cast<int>(seed % 3);
    const std::int64_t phases = c.limits.phases;
    const SegmentMap map = SegmentMap::of(c.topology, c.limits, RankId(0));
    const std::int64_t n = c.topology.nodes();
    const std::int64_t r = c.topology.rails();
    const auto header = static_cast<std::int64_t>(
        railwave::exec::step_header_bytes(c.topology.nodes(), c.topology.ranks()));
    const auto words = [](std::int64_t count) { return 8 * count; };
    EXPECT_EQ(map.rows_word, map.header_word + words(2));
    EXPECT_EQ(map.revoked_word, map.rows_word + words(1));
    EXPECT_EQ(map.read_words, map.revoked_word + words(1));
    EXPECT_GE(map.level_words, map.read_words + words(phases));
    EXPECT_GE(map.heard_words, map.level_words + words(phases * r));
    EXPECT_GE(map.remote_words, map.heard_words + words(phases * r * n));
    EXPECT_GE(map.absent_words, map.remote_words + words(2 * n));
    EXPECT_GE(map.stream_words, map.absent_words + words(2 * n));
    EXPECT_GE(map.header, map.stream_words + words(phases * map.lanes));
    EXPECT_GE(map.header_stride, header);
    EXPECT_GE(map.remote, map.header + 2 * map.header_stride);
    EXPECT_GE(map.rows, map.remote + 2 * n * map.remote_stride);
    EXPECT_GE(map.metas, std::max(kMostTokens, c.limits.max_recv_rows) * c.limits.max_row_bytes);
    const std::int64_t groups = std::min<std::int64_t>(n, kTopK);
    EXPECT_GE(map.rows_stride,
              map.metas + kMostTokens * groups * railwave::exec::record_meta_bytes(kTopK));
    EXPECT_GE(map.rows, map.rows_place + (phases + 1) * 64);
    EXPECT_GE(map.stage, map.rows + (phases + 1) * map.rows_stride);
    EXPECT_GE(map.bytes, map.stage + phases * map.stage_bytes);
    for (int node = 0; node < n; ++node) {
      EXPECT_GE(map.remote_stride, header * c.topology.ranks_at(NodeId(node)));
    }
  }
}

}  // namespace
