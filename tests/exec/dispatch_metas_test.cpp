// Metas from the wire are checked before anybody uses them as indices.
#include <gtest/gtest.h>

#include "exec/dispatch.hpp"
#include "exec/loopback_ranks.hpp"

namespace {

using engines::Cluster;
using railwave::ErrorCode;
using railwave::NodeId;
using railwave::Placement;
using railwave::RankId;
using railwave::Topology;
using railwave::exec::ChunkShape;
using railwave::exec::DispatchContext;
using railwave::exec::DispatchSource;
using railwave::exec::RecordMeta;
using railwave::exec::RecordSlot;
using railwave::exec::StepCounts;
using railwave::exec::StepHeader;
using railwave::exec::Stream;

constexpr int kTopK = 2;

/// Two nodes of two ranks, two experts a rank: experts 4-7 are on node 1, where rank 2 receives.
class DispatchMetas : public testing::Test {
 protected:
  DispatchMetas()
      : cluster_(*Topology::uniform(2, 2, 1), engines::small_limits()),
        placement_(*Placement::contiguous(8, 4)) {
    StepHeader header;
    header.records = {0, 3};
    header.copies = {0, 0, 3, 2};  // of every rank: 3 rows for rank 2, 2 for rank 3
    counts_ = StepCounts::of(std::vector<StepHeader>(4, header), 2);
    context_.engine = &cluster_.engine(2);
    context_.placement = &placement_;
    context_.counts = &counts_;
    context_.shape = ChunkShape::of(railwave::exec::record_meta_bytes(kTopK), 8, 1000);
    context_.top_k = kTopK;
    stream_.pair = {NodeId(0), NodeId(1)};
    stream_.sender = RankId(0);
    stream_.receiver = RankId(2);
  }

  /// Readers of a chunk whose second record is as given; the first is sound and for rank 2.
  railwave::Status readers(std::uint32_t source, RecordSlot first, RecordSlot second) {
    std::vector<std::byte> chunk(static_cast<std::size_t>(context_.shape.payload(2)));
    RecordMeta::write_head(chunk.data(), 0, 0);
    RecordMeta::write_slot(chunk.data(), 0, {4, 0, 1});
    RecordMeta::write_slot(chunk.data(), 1, {-1, 0, 0});
    std::byte* at = chunk.data() + context_.shape.meta_bytes;
    RecordMeta::write_head(at, source, 1);
    RecordMeta::write_slot(at, 0, first);
    RecordMeta::write_slot(at, 1, second);
    locals_.assign(2, 0);
    return DispatchSource(context_).readers(stream_, 0, 2, chunk.data(), locals_);
  }

  void expect_broken(std::uint32_t source, RecordSlot first, RecordSlot second) {
    const auto status = readers(source, first, second);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::ProtocolViolation);
    EXPECT_EQ(status.error().rank, 0) << "the rank that sent it";
    EXPECT_NE(status.error().message.find("record 1 "), std::string::npos);
  }

  Cluster cluster_;
  Placement placement_;
  StepCounts counts_;
  DispatchContext context_;
  Stream stream_;
  std::vector<std::uint8_t> locals_;
};

TEST_F(DispatchMetas, SoundOnesSayWhoReads) {
  ASSERT_TRUE(readers(1, {5, 2, 1}, {7, 1, 1}));
  EXPECT_EQ(locals_, (std::vector<std::uint8_t>{1, 1}));
  ASSERT_TRUE(readers(1, {5, 2, 1}, {-1, 0xffffffff, 0}));
  EXPECT_EQ(locals_, (std::vector<std::uint8_t>{1, 0}));
}

TEST_F(DispatchMetas, NoExpertBesidesThoseThatExist) {
  for (const std::int32_t expert : {8, 1'000'000, -2, std::numeric_limits<std::int32_t>::min()}) {
    expect_broken(0, {expert, 0, 1}, {-1, 0, 0});
    expect_broken(0, {4, 0, 1}, {expert, 0, 0});
  }
}

TEST_F(DispatchMetas, NoSourceBesidesTheRanksOfTheSendingNode) {
  for (const std::uint32_t source : {2U, 3U, 4U, 0x80000000U, 0xffffffffU}) {
    expect_broken(source, {4, 0, 1}, {-1, 0, 0});
  }
}

TEST_F(DispatchMetas, NoRowBesidesThoseAnnounced) {
  expect_broken(0, {4, 3, 1}, {-1, 0, 0});
  expect_broken(0, {-1, 0, 0}, {6, 2, 1});
  expect_broken(0, {4, 0xffffffff, 1}, {-1, 0, 0});
  expect_broken(0, {0, 0, 1}, {-1, 0, 0});  // no rows for rank 0 were announced
}

}  // namespace
