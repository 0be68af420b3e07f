// How the records of a stream lie in frames and in the stage.
#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "exec/limits.hpp"

namespace {

using railwave::exec::ChunkShape;

TEST(ChunkShape, TakesAsManyRecordsAsFit) {
  EXPECT_EQ(ChunkShape::of(20, 80, 1000).records, 10);
  EXPECT_EQ(ChunkShape::of(20, 80, 999).records, 9);
  EXPECT_EQ(ChunkShape::of(20, 80, 100).records, 1);
  EXPECT_EQ(ChunkShape::of(20, 80, 1).records, 1) << "a record larger than a frame goes alone";
}

TEST(ChunkShape, WorkedExample) {
  // 3 records of 8 + 30 bytes a frame: 114 bytes, so frames lie 128 apart.
  const ChunkShape shape = ChunkShape::of(8, 30, 120);
  EXPECT_EQ(shape.records, 3);
  EXPECT_EQ(shape.stride(), 128);
  EXPECT_EQ(shape.count(7), 3);
  EXPECT_EQ(shape.records_in(2, 7), 1);
  EXPECT_EQ(shape.stage_bytes(7), 2 * 128 + 64);
  EXPECT_EQ(shape.meta_offset(4), 128 + 8);
  EXPECT_EQ(shape.row_offset(4, 7), 128 + 3 * 8 + 30);
  EXPECT_EQ(shape.row_offset(6, 7), 256 + 8) << "the last frame has one meta only";
}

/// Lays a stream out byte by byte and looks where things came to lie.
void check_layout(std::int64_t meta, std::int64_t row, std::int64_t chunk, std::int64_t records) {
  const ChunkShape shape = ChunkShape::of(meta, row, chunk);
  const std::int64_t bytes = shape.stage_bytes(records);
  ASSERT_LE(bytes, records * ((meta + row + 63) / 64 * 64)) << "what a segment reserves";
  std::vector<int> owner(static_cast<std::size_t>(bytes), -1);
  const auto claim = [&](std::int64_t at, std::int64_t size, std::int64_t record) {
    ASSERT_GE(at, 0);
    ASSERT_LE(at + size, bytes);
    for (std::int64_t i = at; i < at + size; ++i) {
      ASSERT_EQ(owner[static_cast<std::size_t>(i)], -1) << "byte " << i << " twice";
      owner[static_cast<std::size_t>(i)] = static_cast<int>(record);
    }
  };
  std::int64_t total = 0;
  for (std::int64_t c = 0; c < shape.count(records); ++c) {
    const std::int64_t in_chunk = shape.records_in(c, records);
    ASSERT_GE(in_chunk, 1);
    ASSERT_TRUE(shape.payload(in_chunk) <= chunk || in_chunk == 1);
    // In a frame: all metas, then all rows, without gaps.
    for (std::int64_t i = 0; i < in_chunk; ++i) {
      const std::int64_t record = total + i;
      ASSERT_EQ(shape.meta_offset(record), c * shape.stride() + i * meta);
      ASSERT_EQ(shape.row_offset(record, records), c * shape.stride() + in_chunk * meta + i * row);
      claim(shape.meta_offset(record), meta, record);
      claim(shape.row_offset(record, records), row, record);
    }
    total += in_chunk;
  }
  ASSERT_EQ(total, records);
  ASSERT_EQ(shape.stride() % 64, 0);
}

TEST(ChunkShape, LaysEveryByteOnceAndWithinTheStage) {
  std::mt19937_64 rng(3);
  for (int round = 0; round < 300 && !HasFatalFailure(); ++round) {
    const auto meta = static_cast<std::int64_t>(rng() % 2 * 8 * (1 + rng() % 5));
    const auto row = 1 + static_cast<std::int64_t>(rng() % 200);
    const auto chunk = 1 + static_cast<std::int64_t>(rng() % 1000);
    SCOPED_TRACE(testing::Message() << meta << " + " << row << " in " << chunk);
    check_layout(meta, row, chunk, static_cast<std::int64_t>(rng() % 40));
  }
}

}  // namespace
