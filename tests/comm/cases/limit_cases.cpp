// Input beyond what an id, a group or 32 bits can hold.
#include <chrono>

#include <gtest/gtest.h>

#include "comm/cases/bodies.hpp"
#include "comm/cases/first_step.hpp"
#include "comm/cases/guarded.hpp"
#include "comm/cases/step.hpp"

namespace cases {
namespace {

/// A dispatch that must fail, within 2 s and without writing a byte.
railwave::Error refused(Rank& rank, Communicator& group, const Step& step, Path path,
                        std::int64_t room) {
  const std::size_t self = rank.self.index();
  const auto tokens = step.idx[self].size() / static_cast<std::size_t>(step.top_k);
  std::vector<float> x(tokens * static_cast<std::size_t>(step.hidden), 1.0F);
  Guarded recv_x(static_cast<std::size_t>(room * step.hidden * element_bytes(step.variant.sent)));
  std::vector<float> scales(
      tokens * static_cast<std::size_t>(railwave::scales_per_row(step.variant.sent, step.hidden)));
  railwave::DispatchArguments in;
  in.x = x.data();
  in.tokens = static_cast<std::int64_t>(tokens);
  in.hidden = step.hidden;
  in.dtype = step.variant.sent;
  in.scales = scales;
  in.layout = step.variant.layout;
  in.top_k = step.top_k;
  in.topk_idx = step.idx[self];
  in.path = path;
  in.recv_x = recv_x.inside();
  rank.doing("a dispatch that is refused");
  rank.pause();
  const auto begin = std::chrono::steady_clock::now();
  const auto received = group.dispatch(in);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  EXPECT_FALSE(received) << "rank " << self;
  EXPECT_TRUE(recv_x.untouched()) << "rank " << self;
  return received ? railwave::Error{} : received.error();
}

void expect_error(const Rank& rank, const railwave::Error& error, ErrorCode code, int culprit) {
  EXPECT_EQ(error.code, code) << "rank " << rank.self.value << ": " << to_string(error);
  EXPECT_EQ(error.rank, culprit) << "rank " << rank.self.value << ": " << to_string(error);
}

void expect_overflow(const Rank& rank, const railwave::Error& error, std::int64_t need,
                     std::int64_t have) {
  expect_error(rank, error, ErrorCode::CapacityExceeded, 0);
  EXPECT_EQ(error.need, need);
  EXPECT_EQ(error.have, have);
}

}  // namespace

/// D04: a wrong id ends one step, not the group.
void d04_expert_out_of_range(Rank& rank) {
  const auto placement = *Placement::contiguous(8, 4);
  auto group = rank.make(placement, options_for(rank, 4, 64, DType::FP32, 2));
  ASSERT_TRUE(group) << to_string(group.error());
  on_all_variants(rank, [&](Path path, const Variant& variant, Bits& bits) {
    Step sound = first_step();
    sound.variant = variant;
    for (const std::int64_t bad : {8LL, -2LL, 2147483647LL, -2147483648LL, 4294967296LL}) {
      Step step = sound;
      step.idx[2][2] = bad;
      const auto error = refused(rank, *group, step, path, 16);
      if (rank.self.value == 2) {
        expect_error(rank, error, ErrorCode::InvalidArgument, 2);
        EXPECT_EQ(error.field, "expert_id");
        EXPECT_NE(error.message.find("token 1, slot 0"), std::string::npos) << error.message;
        EXPECT_NE(error.message.find(std::to_string(bad)), std::string::npos) << error.message;
      } else {
        expect_error(rank, error, ErrorCode::PeerRejected, 2);
      }
      Seen seen;
      ASSERT_NO_FATAL_FAILURE(run_step(rank, *group, placement, sound, path, seen));
      expect_first_step(rank, seen);
      bits.add(std::as_bytes(std::span(seen.y)));
    }
  });
}

/// D07: more tokens than a rank may send, more rows than a rank may receive.
void d07_too_many_tokens(Rank& rank) {
  const auto placement = *Placement::contiguous(4, 2);
  Step step;
  const auto all_to = [&](std::int64_t expert, std::size_t first, std::size_t second) {
    step.idx = {std::vector<std::int64_t>(first, expert),
                std::vector<std::int64_t>(second, expert)};
  };
  {
    auto group = rank.make(placement, options_for(rank, 16, 64, DType::FP32, 1));
    ASSERT_TRUE(group) << to_string(group.error());
    on_all_variants(rank, [&](Path path, const Variant& variant, Bits& bits) {
      step.variant = variant;
      Seen seen;
      all_to(3, 16, 16);
      ASSERT_NO_FATAL_FAILURE(run_step(rank, *group, placement, step, path, seen));
      bits.add(std::as_bytes(std::span(seen.y)));
      all_to(3, 17, 3);
      const auto error = refused(rank, *group, step, path, 40);
      if (rank.self.value == 0) {
        expect_overflow(rank, error, 17, 16);
      } else {
        expect_error(rank, error, ErrorCode::PeerRejected, 0);
      }
    });
  }
  auto options = options_for(rank, 16, 64, DType::FP32, 1);
  options.max_recv_rows = 20;
  auto group = rank.make(placement, options);
  ASSERT_TRUE(group) << to_string(group.error());
  on_all_variants(rank, [&](Path path, const Variant& variant, Bits& bits) {
    step.variant = variant;
    step.alignment = 3;  // two experts: the padding may take 4 of the 20 rows
    all_to(0, 16, 16);
    expect_overflow(rank, refused(rank, *group, step, path, 40), 32, 20);
    // The room that a rank gives for one call may be less than the group's.
    expect_overflow(rank, refused(rank, *group, step, path, 18), 32, 18);
    Seen seen;
    all_to(0, 8, 8);
    ASSERT_NO_FATAL_FAILURE(run_step(rank, *group, placement, step, path, seen));
    EXPECT_EQ(seen.rows, rank.self.value == 0 ? 16 : 0);
    bits.add(std::as_bytes(std::span(seen.y)));
  });
}

/// D17 (c, d): a handle of a group that lives beside this one, and of one that is gone.
void d17_handle_of_another_group(Rank& rank) {
  const auto placement = *Placement::contiguous(2, 2);
  const auto options = options_for(rank, 4, 64, DType::FP32, 1);
  const std::vector<float> x(4 * 64, 1.0F);
  std::vector<float> out(4 * 64, 7.0F);
  const std::vector<std::int64_t> idx{0, 1, 0, 1};
  auto old = rank.make(placement, options);
  ASSERT_TRUE(old) << to_string(old.error());
  railwave::DispatchArguments in;
  in.x = x.data();
  in.tokens = 4;
  in.hidden = 64;
  in.dtype = DType::FP32;
  in.top_k = 1;
  in.topk_idx = idx;
  const auto received = old->dispatch(in);
  ASSERT_TRUE(received) << to_string(received.error());
  auto group = rank.make(placement, options);
  ASSERT_TRUE(group) << to_string(group.error());
  railwave::CombineArguments combine;
  combine.handle = received->handle;
  combine.x = received->x;
  combine.rows = received->rows;
  combine.hidden = 64;
  combine.dtype = DType::FP32;
  combine.out = std::as_writable_bytes(std::span(out));
  for (const bool gone : {false, true}) {
    rank.doing(gone ? "a handle of a group that is gone" : "a handle of another group");
    if (gone) {
      const auto destroyed = std::move(*old);
    }
    const auto combined = group->combine(combine);
    ASSERT_FALSE(combined);
    expect_error(rank, combined.error(), ErrorCode::StaleHandle, rank.self.value);
  }
  EXPECT_EQ(out, std::vector<float>(4 * 64, 7.0F));
}

/// D08 (a): a group for 2^31 + 6144 bytes a rank. Its stages lie beyond 2^32, which a small step
/// reaches; memory comes on first touch.
void d08_offsets_beyond_32_bits(Rank& rank) {
  constexpr std::int64_t kTokens = 149'797;
  constexpr std::int64_t kBytes = kTokens * 7168 * 2;
  static_assert(kBytes == (std::int64_t{1} << 31) + 6144);
  const auto placement = *Placement::contiguous(2, 2);
  auto options = options_for(rank, kTokens, 7168, DType::BF16, 1);
  options.max_recv_rows = kTokens;
  auto group = rank.make(placement, options);
  if (!group && group.error().code == ErrorCode::ResourceExhausted) {
    GTEST_SKIP() << to_string(group.error());
  }
  ASSERT_TRUE(group) << to_string(group.error());
  // Rows of two steps and a stage of at least one row for each token.
  EXPECT_GT(group->workspace().segment, 3 * kBytes);
  EXPECT_EQ(group->workspace().segment, railwave::workspace_size(rank.topology, options)->segment);
  Step step;
  step.hidden = 7168;
  step.variant.sent = DType::BF16;
  step.idx = {{1, 0, 1}, {0, 0, 1, 0}};
  Seen seen;
  on_all_paths(rank, [&](Path path, Bits& bits) {
    ASSERT_NO_FATAL_FAILURE(run_step(rank, *group, placement, step, path, seen));
    bits.add(std::as_bytes(std::span(seen.y)));
  });
}

}  // namespace cases
