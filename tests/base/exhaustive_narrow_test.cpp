// Each of the 2^32 fp32 patterns to bf16, fp16 and fp8, on every instruction set: between two
// half-way points, worked out from the format's definition, all patterns have the same result.
#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "base/format_reference.hpp"
#include "base/row_format.hpp"

namespace railwave {
namespace {

struct Case {
  DType dtype;
  reference::Format format;
};
const Case kCases[] = {{DType::BF16, reference::kBf16},
                       {DType::FP16, reference::kFp16},
                       {DType::FP8E4M3, reference::kFp8E4M3}};

class ExhaustiveNarrow : public ::testing::TestWithParam<std::tuple<Case, InstructionSet>> {
 protected:
  static constexpr std::size_t kBlock = 4096;

  /// All fp32 patterns from `first` to `last` become `expected`.
  void expect_all(std::uint32_t first, std::uint32_t last, std::uint32_t expected) {
    const auto& [one, instructions] = GetParam();
    const auto element = static_cast<std::size_t>(element_bytes(one.dtype));
    const RowFormat& loops = row_format(one.dtype, instructions);
    for (std::size_t i = 0; i < kBlock; ++i) {
      std::memcpy(expected_.data() + i * element, &expected, element);
    }
    for (std::uint64_t at = first; at <= last; at += kBlock) {
      const std::size_t n = std::min<std::uint64_t>(kBlock, last - at + 1);
      for (std::size_t i = 0; i < n; ++i) in_[i] = static_cast<std::uint32_t>(at + i);
      loops.narrow(reinterpret_cast<const float*>(in_.data()), found_.data(), n);
      ASSERT_EQ(std::memcmp(found_.data(), expected_.data(), n * element), 0)
          << std::hex << "one of the " << n << " patterns from " << at << " is not " << expected;
      met_ += n;
    }
  }

  std::vector<std::uint32_t> in_ = std::vector<std::uint32_t>(kBlock);
  std::vector<std::byte> found_ = std::vector<std::byte>(kBlock * 2);
  std::vector<std::byte> expected_ = std::vector<std::byte>(kBlock * 2);
  std::uint64_t met_ = 0;
};

INSTANTIATE_TEST_SUITE_P(All, ExhaustiveNarrow,
                         ::testing::Combine(::testing::ValuesIn(kCases),
                                            ::testing::Values(InstructionSet::Baseline,
                                                              InstructionSet::Avx2)),
                         [](const auto& one) {
                           const bool avx2 = std::get<1>(one.param) == InstructionSet::Avx2;
                           return std::string(to_string(std::get<0>(one.param).dtype)) +
                                  (avx2 ? "_avx2" : "_baseline");
                         });

TEST_P(ExhaustiveNarrow, EveryPattern) {
  const auto& [one, instructions] = GetParam();
  if (instructions > best_instruction_set()) GTEST_SKIP() << "this CPU has no AVX2";
  const std::uint32_t special = reference::first_special(one.format);
  for (const bool negative : {false, true}) {
    const std::uint32_t fp32_sign = negative ? 0x80000000U : 0;
    const std::uint32_t sign = negative ? reference::sign_bit(one.format) : 0;
    std::uint32_t first = 0;
    for (std::uint32_t low = 0; low < special; ++low) {
      const double middle =
          (reference::unlimited(low, one.format) + reference::unlimited(low + 1, one.format)) / 2;
      const auto half = std::bit_cast<std::uint32_t>(static_cast<float>(middle));
      const std::uint32_t last = low % 2 == 0 ? half : half - 1;  // the tie goes to the even one
      ASSERT_NO_FATAL_FAILURE(expect_all(first | fp32_sign, last | fp32_sign, low | sign));
      first = last + 1;
    }
    const std::uint32_t beyond = one.format.has_infinity ? special | sign : one.format.nan;
    ASSERT_NO_FATAL_FAILURE(expect_all(first | fp32_sign, 0x7f800000U | fp32_sign, beyond));
    ASSERT_NO_FATAL_FAILURE(
        expect_all(0x7f800001U | fp32_sign, 0x7fffffffU | fp32_sign, one.format.nan));
  }
  EXPECT_EQ(met_, std::uint64_t{1} << 32);
}

}  // namespace
}  // namespace railwave
