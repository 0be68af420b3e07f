// Values that are no ordinary numbers.
#include <array>
#include <bit>
#include <cstring>

#include <gtest/gtest.h>

#include "comm/cases/bodies.hpp"
#include "comm/cases/guarded.hpp"
#include "comm/cases/rank.hpp"

namespace cases {
namespace {

/// Rows of bit patterns, which are the upper halves of floats in bf16.
struct Pattern {
  DType dtype;
  [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(element_bytes(dtype)); }
  void put(std::byte* row, std::size_t column, std::uint32_t bits) const {
    if (dtype == DType::BF16) bits >>= 16;
    std::memcpy(row + column * bytes(), &bits, bytes());
  }
  [[nodiscard]] std::uint32_t get(const std::byte* row, std::size_t column) const {
    std::uint32_t bits = 0;
    std::memcpy(&bits, row + column * bytes(), bytes());
    return dtype == DType::BF16 ? bits << 16 : bits;
  }
};

constexpr std::uint32_t kQuietNan = 0x7fc00000;
constexpr std::uint32_t kInf = 0x7f800000;
constexpr std::uint32_t kOne = 0x3f800000;
constexpr std::uint32_t kTwo = 0x40000000;

/// As a row travels and as a sum of this one addend, from +0, comes out.
struct Special {
  std::uint32_t bits;
  std::uint32_t sum;
};
// The last two fill a bf16 element with a NaN of other payload and sign, and a negative subnormal.
constexpr std::array<Special, 8> kSpecials{{{0x7fc10000, kQuietNan},
                                            {kInf, kInf},
                                            {0xff800000, 0xff800000},
                                            {0x80000000, 0},
                                            {0x00010000, 0x00010000},
                                            {0x7f7f0000, 0x7f7f0000},
                                            {0xffa50000, kQuietNan},
                                            {0x80010000, 0x80010000}}};
constexpr std::size_t kHidden = kSpecials.size();

/// Tokens of each rank, all with one expert here (0) and one there (2) or none:
///   0  [0, 2]   specials as input; sum of ones and, in column 3, a NaN
///   1  [0, -1]  1 in every column, whatever lies in the unused buffers
///   2  [0, 2]   2 with weight 1, Inf with weight 0
///   3  [0, -1]  the specials as the only addend
///   4  [0, 2]   Inf and -Inf
const std::vector<std::int64_t> kIdx{0, 2, 0, -1, 0, 2, 0, -1, 0, 2};
constexpr std::size_t kTokens = 5;

/// What the rank that owns the expert of slot `slot` hands back for `token`, weights applied.
std::uint32_t addend(std::size_t slot, std::size_t token, std::size_t column) {
  const float zero_times_inf = 0.0F * std::bit_cast<float>(kInf);
  switch (token) {
    case 0:
      return slot == 1 && column == 3 ? kQuietNan : kOne;
    case 1:
      return kOne;
    case 2:
      return slot == 0 ? kTwo : std::bit_cast<std::uint32_t>(zero_times_inf);
    case 3:
      return kSpecials[column].bits;
    default:
      return slot == 0 ? kInf : 0xff800000;
  }
}

std::uint32_t expected_sum(std::size_t token, std::size_t column) {
  switch (token) {
    case 0:
      return column == 3 ? kQuietNan : kTwo;
    case 1:
      return kOne;
    case 3:
      return kSpecials[column].sum;
    default:
      return kQuietNan;
  }
}

void combine_specials(Rank& rank, Communicator& group, const Pattern& pattern,
                      const railwave::Received& received, Bits& bits) {
  const std::size_t row_bytes = kHidden * pattern.bytes();
  std::vector<std::byte> back(static_cast<std::size_t>(received.rows) * row_bytes);
  // Rank 0 owns expert 0 and has a row of every token; rank 1 those with an expert in slot 1.
  const std::vector<std::size_t> tokens = rank.self.value == 0
                                              ? std::vector<std::size_t>{0, 1, 2, 3, 4}
                                              : std::vector<std::size_t>{0, 2, 4};
  for (std::size_t row = 0; row < static_cast<std::size_t>(received.rows); ++row) {
    for (std::size_t column = 0; column < kHidden; ++column) {
      pattern.put(back.data() + row * row_bytes, column,
                  addend(rank.self.index(), tokens[row % tokens.size()], column));
    }
  }
  Guarded out(kTokens * row_bytes);
  railwave::CombineArguments combine;
  combine.handle = received.handle;
  combine.x = back.data();
  combine.rows = received.rows;
  combine.hidden = kHidden;
  combine.dtype = pattern.dtype;
  combine.out = out.inside();
  rank.pause();
  const auto combined = group.combine(combine);
  ASSERT_TRUE(combined) << to_string(combined.error());
  EXPECT_TRUE(out.guards_intact());
  for (std::size_t token = 0; token < kTokens; ++token) {
    for (std::size_t column = 0; column < kHidden; ++column) {
      EXPECT_EQ(pattern.get(out.inside().data() + token * row_bytes, column),
                expected_sum(token, column))
          << "token " << token << ", column " << column;
    }
  }
  bits.add(out.inside());
}

}  // namespace

/// D23: NaN, Inf, -0 and subnormals keep their bits in dispatch and their column in combine.
void d23_special_values(Rank& rank) {
  auto group =
      rank.make(*Placement::contiguous(4, 2), options_for(rank, kTokens, kHidden, DType::FP32, 2));
  ASSERT_TRUE(group) << to_string(group.error());
  for (const DType dtype : {DType::BF16, DType::FP32}) {
    const Pattern pattern{dtype};
    const std::size_t row_bytes = kHidden * pattern.bytes();
    std::vector<std::byte> x(kTokens * row_bytes);
    for (std::size_t i = 0; i < kTokens * kHidden; ++i) {
      // In fp32 the lower half counts as well: a subnormal and a payload that bf16 can not hold.
      pattern.put(x.data(), i, kSpecials[(i + i / kHidden) % kHidden].bits | 1U);
    }
    on_all_paths(rank, [&](Path path, Bits& bits) {
      rank.doing("special values on " + std::string(to_string(path)));
      const std::size_t per_source = rank.self.value == 0 ? 5 : 3;
      Guarded recv_x(2 * per_source * row_bytes);
      railwave::DispatchArguments in;
      in.x = x.data();
      in.tokens = kTokens;
      in.hidden = kHidden;
      in.dtype = dtype;
      in.top_k = 2;
      in.topk_idx = kIdx;
      in.path = path;
      in.recv_x = recv_x.inside();
      rank.pause();
      const auto received = group->dispatch(in);
      ASSERT_TRUE(received) << to_string(received.error());
      ASSERT_EQ(received->rows, static_cast<std::int64_t>(2 * per_source));
      EXPECT_TRUE(recv_x.guards_intact());
      for (std::size_t row = 0; row < 2 * per_source; ++row) {
        const std::size_t token = row % per_source * (rank.self.value == 0 ? 1 : 2);
        EXPECT_EQ(
            std::memcmp(received->x + row * row_bytes, x.data() + token * row_bytes, row_bytes), 0)
            << "row " << row;
      }
      bits.add(recv_x.inside());
      combine_specials(rank, *group, pattern, *received, bits);
    });
  }
}

}  // namespace cases
