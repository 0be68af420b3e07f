// Hidden sizes that fit no vector width.
#include <algorithm>

#include <gtest/gtest.h>

#include "comm/cases/bodies.hpp"
#include "comm/cases/guarded.hpp"
#include "comm/cases/rank.hpp"
#include "group/elements.hpp"

namespace cases {
namespace {

/// Rows of D09: column h of row (r, i) holds (31 r + 7 i + h) mod 251, token i goes to rank i
/// mod 2.
struct OddRows {
  int hidden;
  DType dtype;
  std::vector<int> tokens{5, 4};

  void append(std::vector<std::byte>& out, int r, int i) const {
    const std::size_t at = out.size();
    out.resize(at + static_cast<std::size_t>(hidden * element_bytes(dtype)));
    for (int h = 0; h < hidden; ++h) {
      phases::store(out.data() + at, h, static_cast<float>((31 * r + 7 * i + h) % 251),
                    dtype == DType::BF16   ? phases::Type::BF16
                    : dtype == DType::FP16 ? phases::Type::FP16
                                           : phases::Type::FP32);
    }
  }
  [[nodiscard]] int tokens_of(int rank) const { return tokens[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] std::vector<std::byte> of(int rank) const {
    std::vector<std::byte> out;
    for (int i = 0; i < tokens_of(rank); ++i) append(out, rank, i);
    return out;
  }
  [[nodiscard]] std::vector<std::byte> received_by(int rank) const {
    std::vector<std::byte> out;
    for (int r = 0; r < 2; ++r) {
      for (int i = rank; i < tokens_of(r); i += 2) append(out, r, i);
    }
    return out;
  }
};

/// There and, since the experts return their rows, back as they were.
void send_odd_rows(Rank& rank, Communicator& group, const OddRows& rows, Path path, Bits& bits) {
  const int self = rank.self.value;
  const auto x = rows.of(self);
  const auto expected = rows.received_by(self);
  std::vector<std::int64_t> idx;
  for (int i = 0; i < rows.tokens_of(self); ++i) idx.push_back(i % 2);
  Guarded recv_x(expected.size());
  railwave::DispatchArguments in;
  in.x = x.data();
  in.tokens = rows.tokens_of(self);
  in.hidden = rows.hidden;
  in.dtype = rows.dtype;
  in.top_k = 1;
  in.topk_idx = idx;
  in.path = path;
  in.recv_x = recv_x.inside();
  rank.pause();
  const auto received = group.dispatch(in);
  ASSERT_TRUE(received) << to_string(received.error());
  EXPECT_TRUE(recv_x.guards_intact());
  ASSERT_TRUE(std::ranges::equal(recv_x.inside(), expected)) << "hidden " << rows.hidden;
  Guarded out(x.size());
  railwave::CombineArguments back;
  back.handle = received->handle;
  back.x = received->x;
  back.rows = received->rows;
  back.hidden = rows.hidden;
  back.dtype = rows.dtype;
  back.out = out.inside();
  rank.pause();
  const auto combined = group.combine(back);
  ASSERT_TRUE(combined) << to_string(combined.error());
  EXPECT_TRUE(out.guards_intact());
  ASSERT_TRUE(std::ranges::equal(out.inside(), x)) << "hidden " << rows.hidden;
  bits.add(recv_x.inside());
  bits.add(out.inside());
}

}  // namespace

/// D09: hidden sizes that fit no vector width.
void d09_odd_hidden(Rank& rank) {
  const auto placement = *Placement::contiguous(2, 2);
  for (const int hidden : {1, 3, 7, 100, 130, 2880}) {
    auto group = rank.make(placement, options_for(rank, 5, hidden, DType::FP32, 1));
    ASSERT_TRUE(group) << to_string(group.error());
    for (const DType dtype : {DType::BF16, DType::FP16, DType::FP32}) {
      on_all_paths(rank, [&](Path path, Bits& bits) {
        rank.doing("hidden " + std::to_string(hidden) + " on " + std::string(to_string(path)));
        send_odd_rows(rank, *group, {hidden, dtype}, path, bits);
      });
    }
  }
}

}  // namespace cases
