// One rank in a phase against a hand that sends it frames: what counts, what is refused.
#include <cstring>
#include <functional>
#include <list>
#include <optional>

#include <gtest/gtest.h>

#include "exec/loopback_ranks.hpp"
#include "exec/phase.hpp"

namespace {

using engines::Cluster;
using engines::in_ms;
using railwave::ErrorCode;
using railwave::NodeId;
using railwave::NodePair;
using railwave::RailId;
using railwave::RankId;
using railwave::StartPolicy;
using railwave::Status;
using railwave::Topology;
using railwave::exec::ChunkShape;
using railwave::exec::NodeRows;
using railwave::exec::Phase;
using railwave::exec::PhaseSetup;
using railwave::exec::RecordSource;
using railwave::exec::SendSlots;
using railwave::exec::Stream;
using railwave::plan::DispatchPlan;
using railwave::transport::FrameHeader;
using railwave::transport::FrameKind;

constexpr std::int64_t kRow = 16;

/// Packs bytes of 1; refuses what comes when told to.
class Source final : public RecordSource {
 public:
  bool ready(const Stream&, std::int64_t, std::int64_t) override { return true; }
  Status pack(const Stream&, std::int64_t, std::int64_t count, std::byte* out) override {
    std::memset(out, 1, static_cast<std::size_t>(count * kRow));
    packed += count;
    return {};
  }
  Status readers(const Stream&, std::int64_t, std::int64_t count, const std::byte*,
                 std::span<std::uint8_t> locals) override {
    if (broken)
      return tl::unexpected(railwave::Error{ErrorCode::ProtocolViolation, 0, "records", ""});
    locals[0] = 1;
    seen += count;
    return {};
  }
  bool broken = false;
  std::int64_t packed = 0;
  std::int64_t seen = 0;
};

/// Three nodes of one rank on one rail. Rank 1 runs the phase; the engines of ranks 0 and 2 only
/// send what the test says.
class PhaseFrames : public testing::Test {
 protected:
  explicit PhaseFrames(railwave::Packing packing = railwave::Packing::Pipelined)
      : cluster_(*Topology::uniform(3, 1, 1), limits_of(packing)),
        slots_(cluster_.engine(1), cluster_.limits) {}
  static railwave::exec::Limits limits_of(railwave::Packing packing) {
    auto limits = engines::small_limits();
    limits.packing = packing;
    return limits;
  }

  /// records[s][d]
  void plan(const std::vector<std::vector<std::int64_t>>& records, const railwave::Windows& windows,
            railwave::Path path = railwave::Path::Native) {
    railwave::RailCounts counts(3, 1);
    for (std::size_t s = 0; s < 3; ++s) {
      for (std::size_t d = 0; d < 3; ++d) {
        if (s != d) counts.set(NodeId(s), RailId(0), NodeId(d), records[s][d]);
      }
    }
    plan_ = *DispatchPlan::create(cluster_.topology, counts, {path, windows});
    PhaseSetup setup;
    setup.engine = &cluster_.engine(1);
    setup.plan = &*plan_;
    setup.step = 1;
    setup.shape = ChunkShape::of(0, kRow, 4 * kRow);
    setup.maps = cluster_.maps_of(1);
    rows_.emplace(NodeRows::Setup{setup.engine, setup.maps, 1, {kRow, 0}, 0});
    setup.rows = &*rows_;
    setup.slots = &slots_;
    setup.policy = StartPolicy::Grant;
    setup.packing = cluster_.limits.packing;
    phase_.emplace(setup);
  }

  /// Five records from rank 0 to rank 1: a frame of four and one of one.
  void plan_five_records() { plan({{0, 5, 0}, {0, 0, 0}, {0, 0, 0}}, {}); }

  static FrameHeader records(std::uint32_t first, std::uint32_t count) {
    FrameHeader frame;
    frame.kind = FrameKind::Records;
    frame.step = 1;
    frame.destination = 1;
    frame.first_record = first;
    frame.records = count;
    return frame;
  }

  void send(const FrameHeader& frame, std::int64_t bytes, int fill, int from = 0) {
    payloads_.emplace_back(static_cast<std::size_t>(bytes),
                           std::byte{static_cast<unsigned char>(fill)});
    ASSERT_TRUE(cluster_.engine(from).send(RailId(0), frame, payloads_.back(), 0));
  }

  /// Runs the phase; `hand` is called once, when it has begun.
  Status run(const std::function<void()>& hand, int milliseconds) {
    bool begun = false;
    const auto read = [&] {
      if (!begun) hand();
      begun = true;
      return true;
    };
    phase_->open(source_);
    return cluster_.engine(1).run({[&] { return phase_->advance(read); },
                                   [&] { return phase_->late(); }, in_ms(milliseconds)});
  }
  [[nodiscard]] const Stream& inbound() const { return phase_->streams().inbound.front(); }
  [[nodiscard]] int byte_at(std::int64_t record) const {
    const ChunkShape shape = ChunkShape::of(0, kRow, 4 * kRow);
    return std::to_integer<int>(
        phase_->stage_of(inbound())[shape.row_offset(record, inbound().records)]);
  }
  [[nodiscard]] std::uint64_t refused() { return cluster_.engine(1).rail(RailId(0)).refused(); }

  Cluster cluster_;
  SendSlots slots_;
  Source source_;
  std::optional<DispatchPlan> plan_;
  std::optional<NodeRows> rows_;
  std::optional<Phase> phase_;
  std::list<std::vector<std::byte>> payloads_;
};

TEST_F(PhaseFrames, EndsWhenAllRecordsAreThere) {
  plan_five_records();
  ASSERT_TRUE(run(
      [&] {
        send(records(4, 1), kRow, 7);  // the last first
        send(records(0, 4), 4 * kRow, 6);
      },
      5000));
  EXPECT_EQ(phase_->arrived_records(inbound()), 5);
  EXPECT_EQ(byte_at(0), 6);
  EXPECT_EQ(byte_at(4), 7);
  EXPECT_EQ(source_.seen, 5);
}

TEST_F(PhaseFrames, CountsInOrderOnly) {
  plan_five_records();
  const Status status = run([&] { send(records(4, 1), kRow, 7); }, 50);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::Timeout);
  EXPECT_EQ(status.error().rank, 0);
  EXPECT_EQ(phase_->arrived_records(inbound()), 0);
}

/// Node 0 sends to node 1 in two windows.
TEST_F(PhaseFrames, OfALaterWindowCountWhenTheOnesBeforeAreThere) {
  for (const bool all : {false, true}) {
    plan({{0, 6, 2}, {4, 0, 4}, {4, 2, 0}}, {}, railwave::Path::Birkhoff);
    std::vector<Stream> parts;
    for (const Stream& stream : phase_->streams().inbound) {
      if (stream.sender == railwave::RankId(0)) parts.push_back(stream);
    }
    ASSERT_EQ(parts.size(), 2U);
    EXPECT_EQ(parts[0].records + parts[1].records, 6);
    EXPECT_EQ(parts[1].first, parts[0].records);
    EXPECT_EQ(parts[1].ordinal, parts[0].ordinal);
    EXPECT_LT(parts[0].window, parts[1].window);
    const auto hand_over = [&](const Stream& part, int fill) {
      const auto count = static_cast<std::uint32_t>(part.records);
      FrameHeader frame = records(0, count);
      frame.window = static_cast<std::uint32_t>(part.window);
      send(frame, part.records * kRow, fill);
    };
    (void)run(
        [&] {
          hand_over(parts[1], 7);
          if (all) hand_over(parts[0], 6);
        },
        50);
    EXPECT_EQ(phase_->arrived_records(parts[0]), all ? parts[0].records : 0);
    EXPECT_EQ(phase_->arrived_records(parts[1]), all ? parts[1].records : 0);
    EXPECT_EQ(std::to_integer<int>(*phase_->stage_of(parts[1])), 7);
  }
}

TEST_F(PhaseFrames, WithoutPayloadDoNotCount) {
  plan_five_records();
  const Status status = run(
      [&] {
        send(records(0, 4), 0, 0);
        send(records(4, 1), 0, 0);
        send(records(4'000'000, 1), 0, 0);
        send(records(3, 1), 0, 0);
      },
      50);
  ASSERT_FALSE(status);
  EXPECT_EQ(phase_->arrived_records(inbound()), 0);
  EXPECT_EQ(source_.seen, 0);
}

TEST_F(PhaseFrames, ThatDoNotFitThePlanAreRefused) {
  plan_five_records();
  ASSERT_TRUE(run(
      [&] {
        send(records(0, 5), 5 * kRow, 1);    // more than a frame holds
        send(records(1, 4), 4 * kRow, 1);    // begins inside a frame
        send(records(4, 4), 4 * kRow, 1);    // ends behind the stream
        send(records(8, 1), kRow, 1);        // begins behind it
        send(records(0, 4), 3 * kRow, 1);    // says one thing, holds another
        FrameHeader window = records(0, 4);  // of no window
        window.window = 7;
        send(window, 4 * kRow, 1);
        send(records(0, 4), 4 * kRow, 1, 2);  // of a rank that has nothing to send
        FrameHeader level = records(0, 4);    // a level has no payload
        level.kind = FrameKind::Grant;
        send(level, 4 * kRow, 1);
        send(records(0, 4), 4 * kRow, 6);
        send(records(4, 1), kRow, 7);
      },
      5000));
  EXPECT_EQ(refused(), 8U);
  EXPECT_EQ(byte_at(0), 6);
  EXPECT_EQ(byte_at(4), 7);
}

TEST_F(PhaseFrames, TheFirstCopyStays) {
  plan_five_records();
  ASSERT_TRUE(run(
      [&] {
        for (const int fill : {6, 9}) send(records(0, 4), 4 * kRow, fill);
        send(records(4, 1), kRow, 7);
      },
      5000));
  EXPECT_EQ(byte_at(0), 6);
  EXPECT_EQ(refused(), 1U);
  EXPECT_EQ(source_.seen, 5);
}

TEST_F(PhaseFrames, AChunkThatCanNotBeEndsThePhase) {
  plan_five_records();
  source_.broken = true;
  const Status status = run([&] { send(records(0, 4), 4 * kRow, 6); }, 5000);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::ProtocolViolation);
  EXPECT_EQ(phase_->arrived_records(inbound()), 0) << "nobody may read it";
}

/// Rank 2 sends to 0 in window 0 and rank 1 in window 1: rank 1 waits for rank 0's grant.
class GrantFrames : public PhaseFrames, public testing::WithParamInterface<std::uint32_t> {
 protected:
  GrantFrames() {
    plan({{0, 0, 0}, {3, 0, 0}, {3, 0, 0}},
         {{NodePair{NodeId(2), NodeId(0)}}, {NodePair{NodeId(1), NodeId(0)}}});
  }
  void grant(std::uint32_t level) {
    FrameHeader frame = records(0, 0);
    frame.kind = FrameKind::Grant;
    frame.window = level;
    send(frame, 0, 0);
  }
};

TEST_F(GrantFrames, OfThePlanStartAWindow) {
  EXPECT_TRUE(run([&] { grant(1); }, 5000));
  EXPECT_EQ(source_.packed, 3);
}

TEST_P(GrantFrames, OfLevelsThatAreNotDoNothing) {
  const Status status = run([&] { grant(GetParam()); }, 50);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().rank, 0) << status.error().message;
  EXPECT_EQ(source_.packed, 0);
}

/// Rank 1 sends six records to node 0 in window 0 and three to node 2 in window 1, which waits for
/// a grant. It has two slots for frames of four records.
class PackedFrames : public PhaseFrames, public testing::WithParamInterface<railwave::Packing> {
 protected:
  PackedFrames() : PhaseFrames(GetParam()) {
    const NodePair to_0{NodeId(1), NodeId(0)};
    const NodePair to_2{NodeId(1), NodeId(2)};
    const NodePair busy{NodeId(0), NodeId(2)};  // node 2 has something to wait for
    plan({{0, 0, 1}, {6, 0, 3}, {0, 0, 0}}, {{to_0, busy}, {to_2}});
  }
  [[nodiscard]] std::int64_t packed_before_the_grant() const {
    return GetParam() == railwave::Packing::Prepacked ? 9 : 6;
  }
};

/// What is packed before anything is sent, and before the second window may start.
TEST_P(PackedFrames, WhenTheirTimeHasCome) {
  std::int64_t packed_at_grant = -1;
  const Status status = run(
      [&] {
        packed_at_grant = source_.packed;
        FrameHeader grant = records(0, 0);
        grant.kind = FrameKind::Grant;
        grant.window = 1;
        send(grant, 0, 0, 2);
      },
      5000);
  ASSERT_TRUE(status) << to_string(status.error());
  EXPECT_EQ(packed_at_grant, packed_before_the_grant());
  EXPECT_EQ(source_.packed, 9) << "each record once";
  railwave::PhaseReport report;
  phase_->report(report);
  EXPECT_EQ(report.prepack_s > 0, GetParam() == railwave::Packing::Prepacked);
}

INSTANTIATE_TEST_SUITE_P(Packings, PackedFrames,
                         testing::Values(railwave::Packing::Pipelined,
                                         railwave::Packing::Sequential,
                                         railwave::Packing::Prepacked));

INSTANTIATE_TEST_SUITE_P(Levels, GrantFrames,
                         testing::Values(0U, 3U, 0xffffffU, 0x1000001U, 0xffffffffU));

}  // namespace
