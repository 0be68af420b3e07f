// The sums of combine against doubles and bit patterns worked out by hand.
#include "exec/reduce.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "group/reference.hpp"

namespace {

using railwave::DType;
using railwave::exec::RowSum;

template <class T>
std::vector<std::byte> row_of(const std::vector<T>& values) {
  std::vector<std::byte> row(values.size() * sizeof(T) + 1);  // one byte off: rows lie anywhere
  std::memcpy(row.data() + 1, values.data(), values.size() * sizeof(T));
  return row;
}

template <class T>
std::vector<T> stored(const RowSum& sum, std::size_t hidden) {
  std::vector<std::byte> row(hidden * sizeof(T) + 1);
  sum.store(row.data() + 1);
  std::vector<T> out(hidden);
  std::memcpy(out.data(), row.data() + 1, hidden * sizeof(T));
  return out;
}

std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

std::uint32_t sum_fp32(const std::vector<float>& addends) {
  RowSum sum(DType::FP32, 1);
  for (const float value : addends) sum.add(row_of<float>({value}).data() + 1);
  return stored<std::uint32_t>(sum, 1)[0];
}

std::uint16_t sum_bf16(const std::vector<std::uint16_t>& addends) {
  RowSum sum(DType::BF16, 1);
  for (const std::uint16_t value : addends) sum.add(row_of<std::uint16_t>({value}).data() + 1);
  return stored<std::uint16_t>(sum, 1)[0];
}

TEST(RowSum, RunsInTheOrderGiven) {
  EXPECT_EQ(sum_fp32({1e30F, -1e30F, 1.0F}), bits(1.0F));
  EXPECT_EQ(sum_fp32({1e30F, 1.0F, -1e30F}), bits(0.0F));
}

TEST(RowSum, RoundsOnceAtTheEnd) {
  // 256 + 1 is not exact in bf16; three additions in fp32 and one rounding are.
  EXPECT_EQ(sum_bf16({0x4380, 0x3f80, 0x3f80}), 0x4381);  // 256 + 1 + 1 = 258
  EXPECT_EQ(sum_bf16({0x4380, 0x3f80}), 0x4380) << "257 ties to 256";
  EXPECT_EQ(sum_bf16({0x4381, 0x3f80}), 0x4382) << "259 ties to 260";
}

TEST(RowSum, StartsFromPlusZero) {
  EXPECT_EQ(sum_fp32({}), 0U);
  EXPECT_EQ(sum_fp32({-0.0F}), 0U) << "+0 + -0 = +0";
  RowSum bias(DType::FP32, 1);
  bias.start(row_of<float>({-0.0F}).data() + 1);
  EXPECT_EQ(stored<std::uint32_t>(bias, 1)[0], 0x80000000U) << "a start keeps its sign";
  bias.add(row_of<float>({-0.0F}).data() + 1);
  EXPECT_EQ(stored<std::uint32_t>(bias, 1)[0], 0x80000000U);
  bias.reset();
  EXPECT_EQ(stored<std::uint32_t>(bias, 1)[0], 0U);
}

TEST(RowSum, StoresOneNaN) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(sum_fp32({inf, -inf}), 0x7fc00000U);
  EXPECT_EQ(sum_fp32({std::bit_cast<float>(0xffc12345U)}), 0x7fc00000U);
  EXPECT_EQ(sum_bf16({0x7f80, 0xff80}), 0x7fc0);
  EXPECT_EQ(sum_bf16({0xffff, 0x3f80}), 0x7fc0);
  EXPECT_EQ(sum_bf16({0x7f81}), 0x7fc0) << "a signalling NaN";
}

TEST(RowSum, OverflowsToInfinity) {
  EXPECT_EQ(sum_bf16({0x7f7f, 0x7f7f}), 0x7f80);
  EXPECT_EQ(sum_bf16({0xff7f, 0xff7f}), 0xff80);
}

TEST(RowSum, AddsAnotherSumAsIfStored) {
  RowSum part(DType::BF16, 1);
  part.add(row_of<std::uint16_t>({0x4380}).data() + 1);
  part.add(row_of<std::uint16_t>({0x3f80}).data() + 1);
  RowSum whole(DType::BF16, 1);
  whole.add_rounded(part);  // 257 has become 256
  whole.add(row_of<std::uint16_t>({0x3f80}).data() + 1);
  whole.add(row_of<std::uint16_t>({0x3f80}).data() + 1);
  EXPECT_EQ(stored<std::uint16_t>(whole, 1)[0], 0x4381);
  RowSum nan(DType::FP32, 1);
  nan.add(row_of<float>({std::bit_cast<float>(0xff812345U)}).data() + 1);
  RowSum after(DType::FP32, 1);
  after.add_rounded(nan);
  EXPECT_EQ(stored<std::uint32_t>(after, 1)[0], 0x7fc00000U);
}

TEST(RowSum, AgreesWithTheDefinitionOnRandomRows) {
  std::mt19937_64 rng(5);
  for (int round = 0; round < 60; ++round) {
    const bool bf16 = round % 2 == 0;
    const std::size_t hidden = 1 + rng() % 70;
    RowSum sum(bf16 ? DType::BF16 : DType::FP32, static_cast<std::int64_t>(hidden));
    std::vector<float> expected(hidden, 0.0F);
    for (int rows = static_cast<int>(rng() % 6); rows > 0; --rows) {
      std::vector<std::uint32_t> wide(hidden);
      std::vector<std::uint16_t> half(hidden);
      for (std::size_t h = 0; h < hidden; ++h) {
        // Any sign and mantissa, exponents near each other so that rounding shows.
        wide[h] = static_cast<std::uint32_t>((rng() & 0x807fffffU) | ((110 + rng() % 40) << 23));
        half[h] = static_cast<std::uint16_t>(wide[h] >> 16);
        expected[h] += bf16 ? std::bit_cast<float>(std::uint32_t{half[h]} << 16)
                            : std::bit_cast<float>(wide[h]);
      }
      sum.add((bf16 ? row_of(half) : row_of(wide)).data() + 1);
    }
    for (std::size_t h = 0; h < hidden; ++h) {
      if (bf16) {
        EXPECT_EQ(stored<std::uint16_t>(sum, hidden)[h],
                  bits(reference::round_bf16(expected[h])) >> 16);
      } else {
        EXPECT_EQ(stored<std::uint32_t>(sum, hidden)[h], bits(expected[h]));
      }
    }
  }
}

}  // namespace
