#include "workload/trace_reader.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workload/scratch_folder.hpp"

namespace railwave::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::string_literals;

using TraceReaderTest = ScratchFolder;

TEST_F(TraceReaderTest, RawIdsTakeTheirShapeFromTheName) {
  const auto path = write("tiny_L2_T3_K2.u8", "\0\1\1\3\2\1\2\3\2\0\0\1"s);
  const auto trace = read_trace(path);
  ASSERT_TRUE(trace) << to_string(trace.error());
  EXPECT_EQ(trace->layers(), 2);
  EXPECT_EQ(trace->tokens(), 3);
  EXPECT_EQ(trace->top_k(), 2);
  EXPECT_EQ(trace->experts(), 4);
  EXPECT_EQ(trace->id(1, 0, 1), 3);
  EXPECT_EQ(read_trace(path, {.experts = 8})->experts(), 8);
}

TEST_F(TraceReaderTest, AnEAfterTheIdsIsTheNumberOfExperts) {
  EXPECT_EQ(read_trace(write("a_L1_T1_K2_E64.u8", "\0\1"s))->experts(), 64);
}

TEST_F(TraceReaderTest, RawIdsWithEmptySlots) {
  const auto trace = read_trace(write("L1_T1_K2.i32le", "\7\0\0\0\xff\xff\xff\xff"s));
  ASSERT_TRUE(trace) << to_string(trace.error());
  EXPECT_EQ(trace->id(0, 0, 0), 7);
  EXPECT_EQ(trace->id(0, 0, 1), -1);
}

TEST_F(TraceReaderTest, WideIdsAreComparedInAll64Bits) {
  // 2^32 + 1 would be a good id after truncation.
  const auto trace = read_trace(write("L1_T1_K1.i64le", "\1\0\0\0\1\0\0\0"s), {.experts = 4});
  ASSERT_FALSE(trace);
  EXPECT_THAT(trace.error().message, HasSubstr("element 0 is 4294967297"));
}

TEST_F(TraceReaderTest, IterationsFoldIntoLayersRanksAndMicroBatchesIntoSources) {
  std::string bytes;
  for (int i = 0; i < 2 * 1 * 2 * 2 * 2; ++i) bytes += {static_cast<char>(i), '\0'};
  const auto trace = read_trace(write("counts_I2_L1_R2_M2_E2.u16le", bytes));
  ASSERT_TRUE(trace) << to_string(trace.error());
  ASSERT_EQ(trace->layers(), 2);
  ASSERT_EQ(trace->sources(), 4);
  EXPECT_THAT(trace->source_counts(1), ElementsAre(8, 9, 10, 11, 12, 13, 14, 15));
  EXPECT_THAT(trace->expert_counts(0), ElementsAre(0 + 2 + 4 + 6, 1 + 3 + 5 + 7));
}

TEST_F(TraceReaderTest, IdsBeyondTheExpertsNameFileByteAndPosition) {
  const auto path = write("bad_L1_T3_K2.u8", "\0\1\1\3\2\1"s);
  const auto trace = read_trace(path, {.experts = 3});
  ASSERT_FALSE(trace);
  EXPECT_THAT(trace.error().message, HasSubstr(path + ": byte 3"));
  EXPECT_THAT(trace.error().message, HasSubstr("layer 0, token 1, slot 1"));
}

TEST_F(TraceReaderTest, SizesThatDoNotMatchTheNameAreRefused) {
  for (const std::string& bytes : {""s, "\0\1\2"s, "\0\1\2\3\0"s}) {
    const auto trace = read_trace(write("x_L1_T2_K2.u8", bytes));
    ASSERT_FALSE(trace);
    EXPECT_THAT(trace.error().message, HasSubstr("needs 4 bytes from byte 0 on, the file has"));
  }
}

TEST_F(TraceReaderTest, ANameThatPromisesTheEarthAllocatesNothing) {
  for (const char* name :
       {"x_L999999999_T999999999_K999999999.u8", "x_L1_T9223372036854775807_K2.u8",
        "c_I4000000000_L4000000000_E4000000000.u16le", "x_L0_T4_K2.u8",
        "c_L0_R9000000000000000000_M9_E2.u16le"}) {
    const auto trace = read_trace(write(name, ""));
    ASSERT_FALSE(trace) << name;
    EXPECT_EQ(trace.error().code, ErrorCode::InvalidArgument);
  }
}

TEST_F(TraceReaderTest, UnknownNamesEndingsAndFilesAreRefused) {
  EXPECT_THAT(read_trace(write("routing.u8", "\0"s)).error().message, HasSubstr("dimensions ''"));
  EXPECT_THAT(read_trace(write("x_K2_L1.u8", "\0\1"s)).error().message, HasSubstr("'KL'"));
  EXPECT_EQ(read_trace(write("x_L1_T1_K1.f32", "\0"s)).error().code, ErrorCode::Unsupported);
  EXPECT_THAT(read_trace(scratch_.file("absent_L1_T1_K1.u8")).error().message,
              HasSubstr("no such regular file"));
  EXPECT_THAT(read_trace("/dev/zero.u8").error().message, HasSubstr("no such regular file"));
}

TEST_F(TraceReaderTest, FilesAboveTheLimitAreRefused) {
  const auto trace = read_trace(write("x_L1_T2_K1.u8", "\0\1"s), {.max_bytes = 1});
  ASSERT_FALSE(trace);
  EXPECT_EQ(trace.error().code, ErrorCode::ResourceExhausted);
  EXPECT_EQ(trace.error().need, 2);
  EXPECT_EQ(trace.error().have, 1);
}

// An empty file would otherwise promise two thousand million layers to whoever walks through them.
TEST_F(TraceReaderTest, LayersWithoutTokensAreLimited) {
  EXPECT_EQ(read_trace(write("L4096_T0_K1.u8", ""))->layers(), 4096);
  EXPECT_THAT(read_trace(write("L4097_T0_K1.u8", "")).error().message,
              HasSubstr("4097 layers without tokens: expected 1 to 4096"));
}

TEST_F(TraceReaderTest, AnEBeyondItsRangeIsRefused) {
  EXPECT_THAT(read_trace(write("L1_T1_K1_E0.u8", "\0"s)).error().message,
              HasSubstr("0 experts: expected 1 to 65535"));
  EXPECT_THAT(read_trace(write("L1_T1_K1_E65536.u8", "\0"s)).error().message,
              HasSubstr("65536 experts: expected 1 to 65535"));
}

TEST_F(TraceReaderTest, BytesInMemoryAreDecodedLikeAFileOfThatName) {
  const auto trace = decode_trace("a/tiny_L1_T1_K2.u8", {2, 3});
  ASSERT_TRUE(trace) << to_string(trace.error());
  EXPECT_EQ(trace->id(0, 0, 1), 3);
  TraceReadOptions options;
  options.task = "b";
  const std::string csv = "task,layer,e0\na,1,1\nb,1,2\n";
  EXPECT_THAT(decode_trace("c.csv", {csv.begin(), csv.end()}, options)->expert_counts(0),
              ElementsAre(2));
  EXPECT_EQ(decode_trace("a.npz", {}).error().code, ErrorCode::Unsupported);
}

}  // namespace
}  // namespace railwave::workload
