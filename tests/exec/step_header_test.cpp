// The header: its bytes, and the verdict that every rank reaches from the same headers.
#include "exec/step_header.hpp"

#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "exec/majority.hpp"

namespace {

using railwave::ErrorCode;
using railwave::NodeId;
using railwave::RankId;
using railwave::Status;
using railwave::exec::Operation;
using railwave::exec::StepCounts;
using railwave::exec::StepHeader;

StepHeader example() {
  StepHeader header;
  header.rejected = 5;
  header.operation = Operation::Combine;
  header.path = railwave::Path::PermutationOnly;
  header.dtype = railwave::DType::FP32;
  header.top_k = 8;
  header.hidden = 7168;
  header.flags = 0x31323334;
  header.step = 0x0102030405060708;
  header.handle_step = 0x1112131415161718;
  header.windows_hash = 0x2122232425262728;
  header.tokens = 4096;
  header.capacity = 0xfffffffe;
  header.records = {1, 2};
  header.copies = {3, 4, 0x01020304};
  return header;
}

/// Written by hand from the order of the fields: 4 single bytes, three 32-bit, three
/// 64-bit, two 32-bit, then N + P counts; little-endian.
constexpr std::array<unsigned char, 68> kGolden{
    0x05, 0x02, 0x02, static_cast<unsigned char>(railwave::DType::FP32),
    0x08, 0x00, 0x00, 0x00,
    0x00, 0x1c, 0x00, 0x00,
    0x34, 0x33, 0x32, 0x31,
    0x08, 0x07, 0x06, 0x05,
    0x04, 0x03, 0x02, 0x01,
    0x18, 0x17, 0x16, 0x15,
    0x14, 0x13, 0x12, 0x11,
    0x28, 0x27, 0x26, 0x25,
    0x24, 0x23, 0x22, 0x21,
    0x00, 0x10, 0x00, 0x00,
    0xfe, 0xff, 0xff, 0xff,
    0x01, 0x00, 0x00, 0x00,
    0x02, 0x00, 0x00, 0x00,
    0x03, 0x00, 0x00, 0x00,
    0x04, 0x00, 0x00, 0x00,
    0x04, 0x03, 0x02, 0x01};

TEST(StepHeader, HasTheBytesOfTheFormat) {
  ASSERT_EQ(railwave::exec::step_header_bytes(2, 3), kGolden.size());
  std::array<std::byte, kGolden.size()> bytes{};
  railwave::exec::encode(example(), 2, bytes);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_EQ(std::to_integer<int>(bytes[i]), kGolden[i]) << "byte " << i;
  }
}

TEST(StepHeader, ReadsWhatItWrites) {
  const StepHeader in = example();
  std::array<std::byte, kGolden.size()> bytes{};
  railwave::exec::encode(in, 2, bytes);
  StepHeader out;
  railwave::exec::decode(bytes, 2, 3, out);
  EXPECT_EQ(out.rejected, in.rejected);
  EXPECT_EQ(out.operation, in.operation);
  EXPECT_EQ(out.path, in.path);
  EXPECT_EQ(out.dtype, in.dtype);
  EXPECT_EQ(out.top_k, in.top_k);
  EXPECT_EQ(out.hidden, in.hidden);
  EXPECT_EQ(out.flags, in.flags);
  EXPECT_EQ(out.step, in.step);
  EXPECT_EQ(out.handle_step, in.handle_step);
  EXPECT_EQ(out.windows_hash, in.windows_hash);
  EXPECT_EQ(out.tokens, in.tokens);
  EXPECT_EQ(out.capacity, in.capacity);
  EXPECT_EQ(out.records, in.records);
  EXPECT_EQ(out.copies, in.copies);
}

TEST(StepHeader, WritesZerosForAbsentCounts) {
  StepHeader header;
  std::array<std::byte, kGolden.size()> bytes;
  bytes.fill(std::byte{0xff});
  railwave::exec::encode(header, 2, bytes);
  StepHeader out;
  railwave::exec::decode(bytes, 2, 3, out);
  EXPECT_EQ(out.records, (std::pmr::vector<std::uint32_t>{0, 0}));
  EXPECT_EQ(out.copies, (std::pmr::vector<std::uint32_t>{0, 0, 0}));
}

/// Five ranks on two nodes that agree; each has 10 tokens and sends 2 rows to every rank.
std::vector<StepHeader> agreed() {
  StepHeader header;
  header.top_k = 2;
  header.hidden = 64;
  header.step = 3;
  header.tokens = 10;
  header.capacity = 10;
  header.records = {4, 10};
  header.copies = {2, 2, 2, 2, 2};
  return std::vector<StepHeader>(5, header);
}

void expect_error(const Status& status, ErrorCode code, int rank, const char* field) {
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, code);
  EXPECT_EQ(status.error().rank, rank);
  EXPECT_EQ(status.error().field, field);
}

TEST(Agree, AcceptsEqualHeaders) { EXPECT_TRUE(railwave::exec::agree(agreed())); }

TEST(Agree, NamesTheFieldAndTheRankThatIsNotOfTheMajority) {
  const auto mismatch = [](const char* field, auto change) {
    auto headers = agreed();
    change(headers[3]);
    expect_error(railwave::exec::agree(headers), ErrorCode::Mismatch, 3, field);
    for (const std::size_t other : {0, 1}) change(headers[other]);  // now three of five have it
    expect_error(railwave::exec::agree(headers), ErrorCode::Mismatch, 2, field);
  };
  mismatch("step", [](StepHeader& h) { h.step = 4; });
  mismatch("operation", [](StepHeader& h) { h.operation = Operation::Leave; });
  mismatch("path", [](StepHeader& h) { h.path = railwave::Path::Native; });
  mismatch("dtype", [](StepHeader& h) { h.dtype = railwave::DType::FP32; });
  mismatch("top_k", [](StepHeader& h) { h.top_k = 3; });
  mismatch("hidden", [](StepHeader& h) { h.hidden = 65; });
  mismatch("layout", [](StepHeader& h) { h.flags = railwave::exec::kExpertMajor; });
  mismatch("return_weights", [](StepHeader& h) { h.flags = railwave::exec::kReturnWeights; });
  mismatch("apply_weights", [](StepHeader& h) { h.flags = railwave::exec::kApplyWeights; });
  mismatch("handle", [](StepHeader& h) { h.handle_step = 1; });
  mismatch("windows", [](StepHeader& h) { h.windows_hash = 9; });
}

TEST(Agree, TiesGoToRankZero) {
  auto headers = agreed();
  headers.resize(4);
  headers[0].hidden = headers[2].hidden = 128;
  expect_error(railwave::exec::agree(headers), ErrorCode::Mismatch, 1, "hidden");
}

TEST(Agree, RefusalsComeBeforeEverythingElse) {
  auto headers = agreed();
  headers[0].hidden = 1;
  headers[4].rejected = static_cast<std::uint8_t>(ErrorCode::InvalidArgument);
  headers[2].rejected = static_cast<std::uint8_t>(ErrorCode::StaleHandle);
  const Status status = railwave::exec::agree(headers);
  expect_error(status, ErrorCode::PeerRejected, 2, "input");
  EXPECT_NE(status.error().message.find("StaleHandle"), std::string::npos);
}

TEST(Agree, CapacityIsOfTheReceiver) {
  auto headers = agreed();
  EXPECT_TRUE(railwave::exec::agree(headers)) << "10 rows fit into 10";
  headers[4].copies = {2, 3, 2, 3, 2};
  const Status status = railwave::exec::agree(headers);
  expect_error(status, ErrorCode::CapacityExceeded, 1, "recv_rows");
  EXPECT_EQ(status.error().need, 11);
  EXPECT_EQ(status.error().have, 10);
  for (StepHeader& header : headers) header.operation = Operation::Combine;
  EXPECT_TRUE(railwave::exec::agree(headers)) << "combine receives no rows";
}

TEST(Agree, RowsOfManyRanksDoNotWrap) {
  auto headers = agreed();
  for (StepHeader& header : headers) header.copies[1] = 0x40000000;
  const Status status = railwave::exec::agree(headers);
  expect_error(status, ErrorCode::CapacityExceeded, 1, "recv_rows");
  EXPECT_EQ(status.error().need, 5LL * 0x40000000);
}

TEST(CheckCounts, RefusesWhatNoRankCanHave) {
  EXPECT_TRUE(railwave::exec::check_counts(agreed(), 10));
  expect_error(railwave::exec::check_counts(agreed(), 9), ErrorCode::ProtocolViolation, 0,
               "records");
  auto headers = agreed();
  headers[2].records[1] = 11;
  headers[3].copies[0] = 11;
  expect_error(railwave::exec::check_counts(headers, 10), ErrorCode::ProtocolViolation, 2,
               "records");
  headers[2].records[1] = 10;
  expect_error(railwave::exec::check_counts(headers, 10), ErrorCode::ProtocolViolation, 3,
               "records");
}

TEST(CheckCounts, EverySlotIsARowInTheExpertMajorLayout) {
  auto headers = agreed();
  for (StepHeader& header : headers) header.flags = railwave::exec::kExpertMajor;
  headers[3].copies[0] = 20;  // 10 tokens of 2 slots
  EXPECT_TRUE(railwave::exec::check_counts(headers, 10));
  headers[3].copies[0] = 21;
  expect_error(railwave::exec::check_counts(headers, 10), ErrorCode::ProtocolViolation, 3,
               "records");
}

TEST(StepCounts, RowsOfOneSourceFollowThoseOfTheSourcesBefore) {
  auto headers = agreed();
  headers[1].copies = {0, 5, 1, 0, 2};
  const StepCounts counts = StepCounts::of(headers, 2);
  EXPECT_EQ(counts.rows, (std::pmr::vector<std::int64_t>{8, 13, 9, 8, 10}));
  EXPECT_EQ(counts.first_row_of(RankId(0), RankId(1)), 0);
  EXPECT_EQ(counts.first_row_of(RankId(2), RankId(1)), 7);
  EXPECT_EQ(counts.first_row_of(RankId(2), RankId(0)), 2);
  EXPECT_EQ(counts.copies_of(RankId(1), RankId(1)), 5);
  EXPECT_EQ(counts.records_of(RankId(3), NodeId(1)), 10);
}

TEST(OddOneOut, IsTheLowestIndexOffTheMajority) {
  const auto odd = [](std::vector<std::uint64_t> values) {
    return railwave::exec::odd_one_out(values);
  };
  EXPECT_FALSE(odd({7}));
  EXPECT_FALSE(odd({7, 7, 7}));
  EXPECT_EQ(odd({1, 2, 2})->index, 0U);
  EXPECT_EQ(odd({2, 1, 2, 3})->index, 1U);
  EXPECT_EQ(odd({2, 1})->common, 2U) << "rank 0's value on a tie";
  EXPECT_EQ(odd({9, 5, 3, 5, 3})->common, 3U) << "the least when rank 0's is not in the tie";
  EXPECT_EQ(odd({9, 5, 3, 5, 3})->index, 0U);
}

}  // namespace
