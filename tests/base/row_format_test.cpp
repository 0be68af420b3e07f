// The loops over rows against the conversion of one element at a time, on every instruction set.
#include "base/row_format.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/format_reference.hpp"
#include "base/number_format.hpp"

namespace railwave {
namespace {

using Bytes = std::vector<std::byte>;

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

/// One element, by the scalar functions.
float widened(DType dtype, const std::byte* at) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, at, static_cast<std::size_t>(element_bytes(dtype)));
  switch (dtype) {
    case DType::BF16:
      return bf16_to_fp32(static_cast<std::uint16_t>(bits));
    case DType::FP16:
      return fp16_to_fp32(static_cast<std::uint16_t>(bits));
    case DType::FP8E4M3:
      return fp8_e4m3_to_fp32(static_cast<std::uint8_t>(bits));
    case DType::FP32:
      return std::bit_cast<float>(bits);
  }
  return 0;
}

std::uint32_t narrowed(DType dtype, float value) {
  switch (dtype) {
    case DType::BF16:
      return fp32_to_bf16(value);
    case DType::FP16:
      return fp32_to_fp16(value);
    case DType::FP8E4M3:
      return fp32_to_fp8_e4m3(value);
    case DType::FP32:
      return bits_of(canonical_fp32(value));
  }
  return 0;
}

class RowFormatTest : public ::testing::TestWithParam<std::tuple<DType, InstructionSet>> {
 protected:
  void SetUp() override {
    if (instructions() > best_instruction_set()) GTEST_SKIP() << "this CPU has no AVX2";
  }
  static DType dtype() { return std::get<0>(GetParam()); }
  static InstructionSet instructions() { return std::get<1>(GetParam()); }
  static const RowFormat& format() { return row_format(dtype(), instructions()); }
  static std::size_t element() { return static_cast<std::size_t>(element_bytes(dtype())); }

  static void expect_widens(const Bytes& row) {
    std::vector<float> out(row.size() / element());
    format().widen(row.data(), out.data(), out.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
      ASSERT_EQ(bits_of(out[i]), bits_of(widened(dtype(), row.data() + i * element()))) << i;
    }
  }
  static void expect_narrows(const std::vector<float>& in) {
    Bytes row(in.size() * element());
    format().narrow(in.data(), row.data(), in.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
      std::uint32_t found = 0;
      std::memcpy(&found, row.data() + i * element(), element());
      ASSERT_EQ(found, narrowed(dtype(), in[i])) << std::hex << bits_of(in[i]);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(
    All, RowFormatTest,
    ::testing::Combine(::testing::Values(DType::BF16, DType::FP16, DType::FP32, DType::FP8E4M3),
                       ::testing::Values(InstructionSet::Baseline, InstructionSet::Avx2)),
    [](const auto& one) {
      const bool avx2 = std::get<1>(one.param) == InstructionSet::Avx2;
      return std::string(to_string(std::get<0>(one.param))) + (avx2 ? "_avx2" : "_baseline");
    });

/// Every pattern of a format of one or two bytes; of fp32 those with each upper half.
Bytes every_pattern(DType dtype) {
  const auto element = static_cast<std::size_t>(element_bytes(dtype));
  const std::uint32_t count = dtype == DType::FP8E4M3 ? 0x100 : 0x10000;
  Bytes row;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t pattern = dtype == DType::FP32 ? (i << 16) | (i * 40503U % 0x10000) : i;
    const auto* bytes = reinterpret_cast<const std::byte*>(&pattern);
    row.insert(row.end(), bytes, bytes + element);
  }
  return row;
}

/// The fp32 patterns around every value of bf16, fp16 or fp8 and around every point half-way to the
/// next.
std::vector<float> boundaries(DType dtype) {
  const reference::Format format = dtype == DType::FP16      ? reference::kFp16
                                   : dtype == DType::FP8E4M3 ? reference::kFp8E4M3
                                                             : reference::kBf16;
  const std::uint32_t special = reference::first_special(format);
  std::vector<float> out;
  for (std::uint32_t low = 0; low < special; ++low) {
    const double below = reference::unlimited(low, format);
    const double middle = (below + reference::unlimited(low + 1, format)) / 2;
    for (const double value : {below, middle}) {
      const std::uint32_t at = bits_of(static_cast<float>(value));
      for (const std::uint32_t bits : {at == 0 ? 0 : at - 1, at, at + 1}) {
        out.push_back(std::bit_cast<float>(bits));
        out.push_back(-std::bit_cast<float>(bits));
      }
    }
  }
  return out;
}

TEST_P(RowFormatTest, WidensEveryPattern) { expect_widens(every_pattern(dtype())); }

TEST_P(RowFormatTest, NarrowsEveryPatternWidened) {
  const Bytes row = every_pattern(dtype());
  std::vector<float> in(row.size() / element());
  format().widen(row.data(), in.data(), in.size());
  expect_narrows(in);
}

TEST_P(RowFormatTest, NarrowsAtEveryBoundary) { expect_narrows(boundaries(dtype())); }

TEST_P(RowFormatTest, NarrowsAnyBits) {
  std::mt19937 rng(11);
  std::vector<float> in(1'000'000);
  for (float& value : in) value = std::bit_cast<float>(static_cast<std::uint32_t>(rng()));
  expect_narrows(in);
}

#if defined(__x86_64__)
/// Some hosts flush subnormals to zero for speed; the formats' own subnormals must survive that.
class SubnormalsFlushed {
 public:
  SubnormalsFlushed() { _mm_setcsr(before_ | 0x8040U); }
  ~SubnormalsFlushed() { _mm_setcsr(before_); }
  SubnormalsFlushed(const SubnormalsFlushed&) = delete;
  SubnormalsFlushed& operator=(const SubnormalsFlushed&) = delete;

 private:
  unsigned before_ = _mm_getcsr();
};

TEST_P(RowFormatTest, ConvertsTheSameWhereTheHostFlushesSubnormals) {
  const Bytes row = every_pattern(dtype());
  const std::vector<float> in = boundaries(dtype());
  std::vector<float> wide[2] = {std::vector<float>(row.size() / element()), {}};
  Bytes narrow[2] = {Bytes(in.size() * element()), {}};
  wide[1] = wide[0];
  narrow[1] = narrow[0];
  format().widen(row.data(), wide[0].data(), wide[0].size());
  format().narrow(in.data(), narrow[0].data(), in.size());
  {
    const SubnormalsFlushed flushed;
    format().widen(row.data(), wide[1].data(), wide[1].size());
    format().narrow(in.data(), narrow[1].data(), in.size());
  }
  EXPECT_EQ(std::memcmp(wide[0].data(), wide[1].data(), wide[0].size() * sizeof(float)), 0);
  EXPECT_EQ(narrow[0], narrow[1]);
}
#endif

constexpr std::size_t kMostElements = 67;
constexpr std::byte kGuard{0xa5};

/// Calls check(n, offset): lengths around those of vectors, at aligned and unaligned addresses.
template <class Check>
void for_lengths_and_offsets(Check check) {
  for (std::size_t n = 0; n <= kMostElements; ++n) {
    for (const std::size_t offset : {0U, 1U, 3U, 8U, 31U}) {
      check(n, offset);
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

void expect_guards(const Bytes& bytes, std::size_t first, std::size_t end) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i >= first && i < end) continue;
    ASSERT_EQ(bytes[i], kGuard) << "byte " << i << " of " << first << " to " << end;
  }
}

TEST_P(RowFormatTest, WidensExactlyNElements) {
  const Bytes patterns = every_pattern(dtype());
  for_lengths_and_offsets([&](std::size_t n, std::size_t offset) {
    std::vector<float> out(kMostElements + 9, -7.0F);
    const std::byte* row = patterns.data() + offset;
    format().widen(row, out.data() + 1, n);
    for (std::size_t i = 0; i < n; ++i) {
      ASSERT_EQ(bits_of(out[1 + i]), bits_of(widened(dtype(), row + i * element())));
    }
    ASSERT_EQ(out[0], -7.0F);
    for (std::size_t i = 1 + n; i < out.size(); ++i) ASSERT_EQ(out[i], -7.0F) << n;
  });
}

TEST_P(RowFormatTest, NarrowsExactlyNElements) {
  std::vector<float> in(kMostElements + 1);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i) * 0.37F - 9;
  for_lengths_and_offsets([&](std::size_t n, std::size_t offset) {
    Bytes row(kMostElements * element() + 64, kGuard);
    format().narrow(in.data() + 1, row.data() + offset, n);
    for (std::size_t i = 0; i < n; ++i) {
      std::uint32_t found = 0;
      std::memcpy(&found, row.data() + offset + i * element(), element());
      ASSERT_EQ(found, narrowed(dtype(), in[1 + i]));
    }
    expect_guards(row, offset, offset + n * element());
  });
}

/// Rows of random elements, and the memory that they lie in.
struct Rows {
  std::vector<Bytes> memory;
  std::vector<const std::byte*> at;
  std::vector<float> weights;
};

/// Values near each other, so that every addition rounds, with some special ones.
Rows random_rows(DType dtype, std::size_t count, std::mt19937& rng) {
  const float special[] = {0.0F, -0.0F, HUGE_VALF, -HUGE_VALF, std::nanf(""), 1e-41F, 6e-8F};
  std::uniform_real_distribution<float> any(-3, 3);
  const auto element = static_cast<std::size_t>(element_bytes(dtype));
  Rows rows;
  for (std::size_t r = 0; r < count; ++r) {
    const std::size_t offset = rng() % 5;
    Bytes& bytes = rows.memory.emplace_back(offset + kMostElements * element);
    for (std::size_t i = 0; i < kMostElements; ++i) {
      const float value = rng() % 40 == 0 ? special[rng() % 7] : any(rng);
      const std::uint32_t bits = narrowed(dtype, value);
      std::memcpy(bytes.data() + offset + i * element, &bits, element);
    }
    rows.at.push_back(bytes.data() + offset);
    rows.weights.push_back(any(rng));
  }
  return rows;
}

/// One operation at a time: volatile, so that no compiler fuses or reorders them.
float added(float sum, float addend) {
  volatile float out = sum + addend;
  return out;
}
float scaled(float weight, float value) {
  volatile float out = weight * value;
  return out;
}

class RowSumLoops : public RowFormatTest {};
INSTANTIATE_TEST_SUITE_P(
    All, RowSumLoops,
    ::testing::Combine(::testing::Values(DType::BF16, DType::FP16, DType::FP32),
                       ::testing::Values(InstructionSet::Baseline, InstructionSet::Avx2)),
    [](const auto& one) {
      const bool avx2 = std::get<1>(one.param) == InstructionSet::Avx2;
      return std::string(to_string(std::get<0>(one.param))) + (avx2 ? "_avx2" : "_baseline");
    });

TEST_P(RowSumLoops, AddAnyNumberOfRowsFromLeftToRight) {
  std::mt19937 rng(3);
  for (std::size_t n = 0; n <= kMostElements; ++n) {
    for (const bool weighted : {false, true}) {
      const Rows rows = random_rows(dtype(), 1 + rng() % 11, rng);
      const SumStart start = rng() % 2 == 0 ? SumStart::Zero : SumStart::Sum;
      std::vector<float> sum(kMostElements + 4, 0.7F);
      const std::vector<float> before = sum;
      format().add({rows.at, weighted ? rows.weights.data() : nullptr}, sum.data() + 1, n, start);
      for (std::size_t i = 0; i < n; ++i) {
        float expected = start == SumStart::Zero ? 0.0F : 0.7F;
        for (std::size_t r = 0; r < rows.at.size(); ++r) {
          const float value = widened(dtype(), rows.at[r] + i * element());
          expected = added(expected, weighted ? scaled(rows.weights[r], value) : value);
        }
        ASSERT_EQ(bits_of(canonical_fp32(sum[1 + i])), bits_of(canonical_fp32(expected)));
      }
      ASSERT_EQ(sum[0], 0.7F);
      ASSERT_TRUE(std::equal(sum.begin() + 1 + static_cast<std::ptrdiff_t>(n), sum.end(),
                             before.begin() + 1 + static_cast<std::ptrdiff_t>(n)));
    }
  }
}

TEST_P(RowSumLoops, AddRoundedAddsWhatWouldBeStored) {
  std::mt19937 rng(4);
  std::uniform_real_distribution<float> any(-3, 3);
  for (std::size_t n = 0; n <= kMostElements; ++n) {
    std::vector<float> in(n);
    std::vector<float> sum(n, 0.7F);
    for (float& value : in) value = rng() % 20 == 0 ? std::nanf("") : any(rng);
    const SumStart start = n % 2 == 0 ? SumStart::Zero : SumStart::Sum;
    format().add_rounded(in.data(), sum.data(), n, start);
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t stored = narrowed(dtype(), in[i]);
      const float addend = widened(dtype(), reinterpret_cast<const std::byte*>(&stored));
      const float expected = added(start == SumStart::Zero ? 0.0F : 0.7F, addend);
      ASSERT_EQ(bits_of(canonical_fp32(sum[i])), bits_of(canonical_fp32(expected)));
    }
  }
}

TEST(RowFormatOfFp8, IsNeverSummed) {
  EXPECT_EQ(row_format(DType::FP8E4M3).add, nullptr);
  EXPECT_EQ(row_format(DType::FP8E4M3).add_rounded, nullptr);
}

}  // namespace
}  // namespace railwave
