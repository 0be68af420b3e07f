#include "workload/replay_rows.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/number_format.hpp"

namespace railwave::workload {
namespace {

ReplayRows rows_of(DType dtype, std::int64_t hidden, std::uint64_t seed = 5) {
  return *ReplayRows::create(seed, dtype, hidden);
}

float value(DType dtype, std::uint32_t bits) {
  return dtype == DType::BF16 ? bf16_to_fp32(static_cast<std::uint16_t>(bits))
                              : std::bit_cast<float>(bits);
}

class ReplayRowsTest : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(DTypes, ReplayRowsTest, ::testing::Values(DType::BF16, DType::FP32),
                         [](const auto& param) { return std::string(to_string(param.param)); });

TEST_P(ReplayRowsTest, ElementsAreFiniteNormalsOfTwoSizes) {
  const auto rows = rows_of(GetParam(), 5000);
  int large = 0;
  for (std::int64_t column = 0; column < 5000; ++column) {
    for (const std::uint32_t bits : {rows.element({RankId(1), 2}, column),
                                     rows.expert_element(ExpertId(3), {RankId(1), 2}, column)}) {
      const float v = std::fabs(value(GetParam(), bits));
      if (v == 0x1p30F) {
        ++large;
        continue;
      }
      ASSERT_GE(v, 1.0F / 256);
      ASSERT_LT(v, 256.0F);
    }
  }
  EXPECT_NEAR(large, 10000 / 8, 150);
}

TEST_P(ReplayRowsTest, SumsOfExpertRowsTellTheirOrder) {
  const auto rows = rows_of(GetParam(), 2000);
  const auto add = [&](std::initializer_list<int> experts, std::int64_t column) {
    float sum = 0;
    for (const int expert : experts) {
      sum += value(GetParam(), rows.expert_element(ExpertId(expert), {RankId(1), 2}, column));
    }
    return sum;
  };
  int different = 0;
  for (std::int64_t column = 0; column < 2000; ++column) {
    different += add({0, 1, 2}, column) != add({0, 2, 1}, column);
  }
  EXPECT_GT(different, 20);
}

TEST_P(ReplayRowsTest, FilledRowsAreTheElements) {
  for (const std::int64_t hidden : {1, 2, 3, 7, 100, 130}) {
    const auto rows = rows_of(GetParam(), hidden);
    const auto size = static_cast<std::size_t>(element_bytes(GetParam()));
    std::vector<std::byte> out(static_cast<std::size_t>(rows.row_bytes()) * 3);
    rows.fill_rows(RankId(4), 10, out);
    std::vector<std::byte> expert(static_cast<std::size_t>(rows.row_bytes()));
    rows.fill_expert_row(ExpertId(6), {RankId(4), 10}, expert);
    for (std::int64_t i = 0; i < 3 * hidden; ++i) {
      std::uint32_t bits = 0;
      std::memcpy(&bits, out.data() + static_cast<std::size_t>(i) * size, size);
      EXPECT_EQ(bits, rows.element({RankId(4), 10 + i / hidden}, i % hidden));
      if (i >= hidden) continue;
      bits = 0;
      std::memcpy(&bits, expert.data() + static_cast<std::size_t>(i) * size, size);
      EXPECT_EQ(bits, rows.expert_element(ExpertId(6), {RankId(4), 10}, i));
    }
  }
}

TEST_P(ReplayRowsTest, RowsTellSeedSourceTokenColumnAndExpert) {
  constexpr std::int64_t kHidden = 64;
  std::set<std::vector<std::uint32_t>> seen;
  std::size_t made = 0;
  const auto add = [&](auto element) {
    std::vector<std::uint32_t> row;
    for (std::int64_t column = 0; column < kHidden; ++column) row.push_back(element(column));
    EXPECT_GT(std::set<std::uint32_t>(row.begin(), row.end()).size(), 40U);
    seen.insert(row);
    ++made;
  };
  for (const std::uint64_t seed : {0U, 1U}) {
    const auto rows = rows_of(GetParam(), kHidden, seed);
    for (int source = 0; source < 8; ++source) {
      for (int token = 0; token < 40; ++token) {
        const RowIdentity id{RankId(source), token};
        add([&](auto column) { return rows.element(id, column); });
        add([&](auto column) { return rows.expert_element(ExpertId(0), id, column); });
        add([&](auto column) { return rows.expert_element(ExpertId(1), id, column); });
      }
    }
  }
  EXPECT_EQ(seen.size(), made);
}

TEST_P(ReplayRowsTest, CountsRowsThatAreWrongInOneBitOrInThePlace) {
  const auto rows = rows_of(GetParam(), 3);
  const auto size = static_cast<std::size_t>(rows.row_bytes());
  std::vector<std::byte> received(4 * size);
  rows.fill_rows(RankId(2), 0, received);
  std::vector<RowIdentity> identity{{RankId(2), 0}, {RankId(2), 1}, {RankId(2), 2}, {RankId(2), 3}};
  EXPECT_EQ(rows.count_wrong_rows(received, identity), 0);
  received[4 * size - 1] ^= std::byte{1};
  EXPECT_EQ(rows.count_wrong_rows(received, identity), 1);
  std::swap(identity[0], identity[1]);
  EXPECT_EQ(rows.count_wrong_rows(received, identity), 3);
  identity[2].source = RankId(3);
  EXPECT_EQ(rows.count_wrong_rows(received, identity), 4);
  EXPECT_EQ(rows.count_wrong_rows({}, {}), 0);
}

TEST(ReplayRowsTest, TheContentIsTheSameOnEveryMachine) {
  EXPECT_EQ(rows_of(DType::BF16, 8).element({RankId(1), 2}, 3), 49575U);
  EXPECT_EQ(rows_of(DType::FP32, 8).element({RankId(1), 2}, 3), 3247176705U);
  EXPECT_EQ(rows_of(DType::FP32, 8).expert_element(ExpertId(4), {RankId(1), 2}, 3), 3177057251U);
}

TEST(ReplayRowsTest, RefusesOtherTypesAndEmptyRows) {
  EXPECT_EQ(ReplayRows::create(1, DType::FP16, 4).error().code, ErrorCode::Unsupported);
  EXPECT_EQ(ReplayRows::create(1, DType::FP8E4M3, 4).error().field, "dtype");
  EXPECT_EQ(ReplayRows::create(1, DType::BF16, 0).error().field, "hidden");
  EXPECT_EQ(ReplayRows::create(1, DType::BF16, INT64_MAX).error().field, "hidden");
}

TEST(HashRowsTest, IsXxh3AndDependsOnTheOrder) {
  EXPECT_EQ(hash_rows({}), 0x2d06800538d394c2ULL);  // published XXH3 of the empty input
  const std::vector<std::uint64_t> a{1, 2};
  const std::vector<std::uint64_t> b{2, 1};
  EXPECT_NE(hash_of_hashes(a), hash_of_hashes(b));
  EXPECT_EQ(hash_of_hashes(a), hash_rows(std::as_bytes(std::span(a))));
}

}  // namespace
}  // namespace railwave::workload
