// The sums of combine against doubles and bit patterns worked out by hand.
#include "exec/reduce.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "base/format_reference.hpp"

namespace {

namespace reference = railwave::reference;
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

TEST(RowSum, Fp16RoundsAndOverflowsAsFp16) {
  const auto sum_fp16 = [](const std::vector<std::uint16_t>& addends) {
    RowSum sum(DType::FP16, 1);
    for (const std::uint16_t value : addends) sum.add(row_of<std::uint16_t>({value}).data() + 1);
    return stored<std::uint16_t>(sum, 1)[0];
  };
  EXPECT_EQ(sum_fp16({0x6800, 0x3c00, 0x3c00}), 0x6801);  // 2048 + 1 + 1 = 2050
  EXPECT_EQ(sum_fp16({0x6800, 0x3c00}), 0x6800) << "2049 ties to 2048";
  EXPECT_EQ(sum_fp16({0x7bff, 0x7bff}), 0x7c00);
  EXPECT_EQ(sum_fp16({0x7bff, 0x7bff, 0xfbff}), 0x7bff) << "no overflow in between";
  EXPECT_EQ(sum_fp16({0x0001, 0x0001}), 0x0002) << "subnormals";
  EXPECT_EQ(sum_fp16({0x7c00, 0xfc00}), 0x7e00);
}

/// (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24 rounds to 1 + 2^-11; fused with the addition it would not.
TEST(RowSum, ScaledRowsAreRoundedBeforeTheyAreAdded) {
  for (const std::size_t hidden : {std::size_t{1}, std::size_t{64}}) {
    RowSum sum(DType::FP32, static_cast<std::int64_t>(hidden));
    sum.add(row_of(std::vector<float>(hidden, -(1 + 0x1p-11F))).data() + 1);
    sum.add_scaled(row_of(std::vector<float>(hidden, 1 + 0x1p-12F)).data() + 1, 1 + 0x1p-12F);
    EXPECT_EQ(stored<std::uint32_t>(sum, hidden), std::vector<std::uint32_t>(hidden, 0U));
  }
}

TEST(RowSum, ScaledRowsStartFromPlusZero) {
  RowSum sum(DType::BF16, 1);
  sum.add_scaled(row_of<std::uint16_t>({0x3f80}).data() + 1, -0.0F);
  EXPECT_EQ(stored<std::uint16_t>(sum, 1)[0], 0x0000);
  sum.add_scaled(row_of<std::uint16_t>({0x3f80}).data() + 1, 2.5F);
  EXPECT_EQ(stored<std::uint16_t>(sum, 1)[0], 0x4020);
  sum.add_scaled(row_of<std::uint16_t>({0x7f80}).data() + 1, 0.0F);
  EXPECT_EQ(stored<std::uint16_t>(sum, 1)[0], 0x7fc0) << "infinity times 0";
}

TEST(RowSum, NoRowsAddNothing) {
  RowSum sum(DType::FP16, 3);
  sum.add(std::span<const std::byte* const>());
  sum.add_scaled(std::span<const std::byte* const>(), std::span<const float>());
  EXPECT_EQ(stored<std::uint16_t>(sum, 3), std::vector<std::uint16_t>(3, 0));
}

TEST(RowSum, AnEmptySumAddsPlusZero) {
  const RowSum empty(DType::FP32, 1);
  RowSum sum(DType::FP32, 1);
  sum.add_rounded(empty);
  EXPECT_EQ(stored<std::uint32_t>(sum, 1)[0], 0U);
  sum.start(row_of<float>({-0.0F}).data() + 1);
  sum.add_rounded(empty);
  EXPECT_EQ(stored<std::uint32_t>(sum, 1)[0], 0U) << "-0 + +0 = +0";
}

TEST(RowSumDeathTest, Fp8IsNeverSummed) {
  EXPECT_DEATH(RowSum(DType::FP8E4M3, 1), "broken invariant");
}

/// A 16-bit format by its definition; null for fp32.
const reference::Format* format_of(DType dtype) {
  if (dtype == DType::FP32) return nullptr;
  return dtype == DType::BF16 ? &reference::kBf16 : &reference::kFp16;
}

struct Row {
  std::vector<std::byte> bytes;  // from the second byte on
  std::vector<float> values;
  float weight = 0;
};

/// Any sign and fraction, exponents near each other so that rounding shows.
Row random_row(DType dtype, std::size_t hidden, std::mt19937_64& rng) {
  const reference::Format* format = format_of(dtype);
  Row row;
  std::vector<std::uint32_t> wide(hidden);
  std::vector<std::uint16_t> half(hidden);
  for (std::size_t h = 0; h < hidden; ++h) {
    wide[h] = static_cast<std::uint32_t>((rng() & 0x807fffffU) | ((110 + rng() % 40) << 23));
    const int fraction_bits = format == nullptr ? 0 : format->fraction_bits;
    half[h] = static_cast<std::uint16_t>((rng() & 0x8000U) | (rng() % (16U << fraction_bits)) |
                                         (dtype == DType::BF16 ? 0x3c00U : 0U));
    row.values.push_back(format == nullptr
                             ? std::bit_cast<float>(wide[h])
                             : static_cast<float>(reference::value_of(half[h], *format)));
  }
  row.bytes = format == nullptr ? row_of(wide) : row_of(half);
  row.weight = static_cast<float>(rng() % 1000) / 999.0F;
  return row;
}

/// One rounding at a time: volatile, so that no compiler fuses the two.
float rounded_product(float weight, float value) {
  volatile float product = weight * value;
  return product;
}

/// `together`: all rows by one call. `scaled`: with their weights.
void add_rows(RowSum& sum, const std::vector<Row>& rows, bool together, bool scaled) {
  std::vector<const std::byte*> at;
  std::vector<float> weights;
  for (const Row& row : rows) {
    at.push_back(row.bytes.data() + 1);
    weights.push_back(row.weight);
    if (together) continue;
    scaled ? sum.add_scaled(at.back(), row.weight) : sum.add(at.back());
  }
  if (together) scaled ? sum.add_scaled(at, weights) : sum.add(at);
}

void expect_stored(const RowSum& sum, DType dtype, const std::vector<float>& expected) {
  const reference::Format* format = format_of(dtype);
  for (std::size_t h = 0; h < expected.size(); ++h) {
    if (format == nullptr) {
      ASSERT_EQ(stored<std::uint32_t>(sum, expected.size())[h], bits(expected[h]));
    } else {
      const std::uint16_t found = stored<std::uint16_t>(sum, expected.size())[h];
      ASSERT_EQ(reference::value_of(found, *format), reference::rounded(expected[h], *format));
    }
  }
}

// A negative subnormal that rounds to -0: a sum from +0 over it is +0.
TEST(RowSum, AloneTheStoredRowIsASumFromPlusZero) {
  for (const DType dtype : {DType::BF16, DType::FP16, DType::FP32}) {
    std::mt19937_64 rng(9);
    const std::size_t hidden = 67;
    const Row row = random_row(dtype, hidden, rng);
    RowSum sum(dtype, static_cast<std::int64_t>(hidden));
    sum.add_scaled(row.bytes.data() + 1, -1e-30F);  // in fp16 all of it rounds to zeros
    RowSum outer(dtype, static_cast<std::int64_t>(hidden));
    outer.add_rounded(sum);
    std::vector<std::byte> twice(row.bytes.size() - 1);
    std::vector<std::byte> alone(twice.size());
    std::vector<std::byte> rounded(twice.size());
    outer.store(twice.data());
    sum.store_alone(alone.data());
    sum.store(rounded.data());
    EXPECT_EQ(alone, twice) << to_string(dtype);
    if (dtype == DType::FP16) {
      EXPECT_NE(alone, rounded) << "there was no -0";
    }
  }
}

TEST(RowSum, AgreesWithTheDefinitionOnRandomRows) {
  std::mt19937_64 rng(5);
  for (int round = 0; round < 240; ++round) {
    const DType dtype = std::array{DType::BF16, DType::FP16, DType::FP32}[round % 3];
    const std::size_t hidden = 1 + rng() % 70;
    const bool scaled = rng() % 2 == 0;
    const bool together = rng() % 2 == 0;
    std::vector<Row> rows(rng() % 12);
    for (Row& row : rows) row = random_row(dtype, hidden, rng);
    RowSum sum(dtype, static_cast<std::int64_t>(hidden));
    add_rows(sum, rows, together, scaled);
    std::vector<float> expected(hidden, 0.0F);
    for (const Row& row : rows) {
      for (std::size_t h = 0; h < hidden; ++h) {
        expected[h] += scaled ? rounded_product(row.weight, row.values[h]) : row.values[h];
      }
    }
    expect_stored(sum, dtype, expected);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
