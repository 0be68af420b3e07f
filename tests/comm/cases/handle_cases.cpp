// Handles: used twice, in another order, wrongly, and to repeat their dispatch.
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "comm/cases/bodies.hpp"
#include "comm/cases/rank.hpp"

namespace cases {
namespace {

constexpr std::int64_t kHidden = 64;

/// Rank 0 receives 5 rows and rank 1 receives 3; every row of rank r is filled with 1 + r.
class TwoRanks {
 public:
  TwoRanks(Rank& rank, Communicator& group, RowLayout layout)
      : rank_(rank), group_(group), layout_(layout) {
    idx_ = rank.self.value == 0 ? std::vector<std::int64_t>{0, 1, 2, 0}
                                : std::vector<std::int64_t>{3, 0, 1, 3};
    x_.assign(idx_.size() * kHidden, static_cast<float>(1 + rank.self.value));
  }

  railwave::DispatchArguments input(const railwave::Handle& handle = {}) const {
    railwave::DispatchArguments in;
    in.x = x_.data();
    in.tokens = static_cast<std::int64_t>(idx_.size());
    in.hidden = kHidden;
    in.dtype = DType::FP32;
    in.handle = handle;
    if (handle.valid()) return in;
    in.top_k = 1;
    in.topk_idx = idx_;
    in.layout = layout_;
    return in;
  }
  railwave::Received dispatch(const railwave::Handle& handle = {}) {
    rank_.pause();
    auto received = group_.dispatch(input(handle));
    EXPECT_TRUE(received) << to_string(received.error());
    if (!received) return {};
    EXPECT_EQ(received->rows, rank_.self.value == 0 ? 5 : 3);
    return std::move(*received);
  }
  /// Rows filled with `value`.
  railwave::CombineArguments rows(const railwave::Handle& handle, float value) {
    back_.assign(static_cast<std::size_t>(handle.rows()) * kHidden, value);
    out_.assign(idx_.size() * kHidden, -7.0F);
    railwave::CombineArguments combine;
    combine.handle = handle;
    combine.x = back_.data();
    combine.rows = handle.rows();
    combine.hidden = kHidden;
    combine.dtype = DType::FP32;
    combine.out = std::as_writable_bytes(std::span(out_));
    return combine;
  }
  /// Every token has one expert, so that it gets the value back.
  void expect_combines(const railwave::Handle& handle, float value) {
    const auto combine = rows(handle, value);
    rank_.pause();
    const auto combined = group_.combine(combine);
    ASSERT_TRUE(combined) << to_string(combined.error());
    EXPECT_EQ(out_, std::vector<float>(out_.size(), value));
  }
  /// Rank 0 changes its combine; it gets `code` and `field`, the other PeerRejected.
  void expect_refused(railwave::CombineArguments combine, ErrorCode code, const char* field,
                      const std::function<void(railwave::CombineArguments&)>& change) {
    if (rank_.self.value == 0) change(combine);
    rank_.pause();
    const auto combined = group_.combine(combine);
    ASSERT_FALSE(combined) << field;
    check_refusal(combined.error(), code, field);
    EXPECT_EQ(out_, std::vector<float>(out_.size(), -7.0F)) << "nothing is written";
  }
  void expect_refused(railwave::DispatchArguments in, ErrorCode code, const char* field,
                      const std::function<void(railwave::DispatchArguments&)>& change) {
    if (rank_.self.value == 0) change(in);
    rank_.pause();
    const auto received = group_.dispatch(in);
    ASSERT_FALSE(received) << field;
    check_refusal(received.error(), code, field);
  }

 private:
  void check_refusal(const railwave::Error& error, ErrorCode code, const char* field) const {
    EXPECT_EQ(error.rank, 0) << to_string(error);
    if (rank_.self.value != 0) {
      EXPECT_EQ(error.code, ErrorCode::PeerRejected) << field << ": " << to_string(error);
      return;
    }
    EXPECT_EQ(error.code, code) << to_string(error);
    EXPECT_EQ(error.field, field) << to_string(error);
  }

  Rank& rank_;
  Communicator& group_;
  RowLayout layout_;
  std::vector<std::int64_t> idx_;
  std::vector<float> x_, back_, out_;
};

}  // namespace

/// D17 (a, b, e, f): rows that do not fit, a second combine, many handles in any order.
void d17_handles(Rank& rank) {
  auto group = rank.make(*Placement::contiguous(4, 2), options_for(rank, 4, 64, DType::FP32, 1));
  ASSERT_TRUE(group) << to_string(group.error());
  for (const RowLayout layout : {RowLayout::RankMajor, RowLayout::ExpertMajor}) {
    TwoRanks two(rank, *group, layout);
    const auto first = two.dispatch();
    const auto second = two.dispatch();
    two.expect_refused(two.rows(first.handle, 2), ErrorCode::InvalidArgument, "rows",
                       [](railwave::CombineArguments& a) { a.rows = 4; });
    two.expect_combines(first.handle, 3);
    two.expect_combines(second.handle, 4);
    two.expect_combines(first.handle, 5);
    std::vector<railwave::Handle> many;
    for (int i = 0; i < 50; ++i) many.push_back(two.dispatch().handle);
    for (std::size_t i = many.size(); i-- > 0;) {
      two.expect_combines(many[i], static_cast<float>(i));
      if (testing::Test::HasFailure()) return;
    }
  }
}

/// A dispatch with a handle sends other rows the same ways; it takes nothing that the handle has.
void d17_repeated_dispatch(Rank& rank) {
  auto group = rank.make(*Placement::contiguous(4, 2), options_for(rank, 4, 64, DType::FP32, 1));
  ASSERT_TRUE(group) << to_string(group.error());
  for (const RowLayout layout : {RowLayout::RankMajor, RowLayout::ExpertMajor}) {
    TwoRanks two(rank, *group, layout);
    const auto first = two.dispatch();
    const auto again = two.dispatch(first.handle);
    EXPECT_EQ(std::vector<std::byte>(again.x, again.x + again.rows * kHidden * 4),
              std::vector<std::byte>(first.x, first.x + first.rows * kHidden * 4));
    EXPECT_EQ(again.tokens_per_expert, first.tokens_per_expert);
    EXPECT_EQ(again.topk_idx, first.topk_idx);
    EXPECT_EQ(again.topk_weights, first.topk_weights);
    EXPECT_EQ(again.expert_offsets, first.expert_offsets);
    EXPECT_EQ(again.report.max_fan_in, first.report.max_fan_in);
    two.expect_combines(again.handle, 6);
    const std::vector<std::int64_t> idx(4, 0);
    const std::vector<float> weights(4, 1.0F);
    std::vector<std::byte> small(4 * kHidden * 4);
    using Arguments = railwave::DispatchArguments;
    const auto refuses = [&](ErrorCode code, const char* field, auto change) {
      two.expect_refused(two.input(first.handle), code, field, change);
    };
    refuses(ErrorCode::InvalidArgument, "handle", [&](Arguments& a) { a.topk_idx = idx; });
    refuses(ErrorCode::InvalidArgument, "handle", [&](Arguments& a) { a.topk_weights = weights; });
    refuses(ErrorCode::InvalidArgument, "handle", [](Arguments& a) { a.windows = {{}}; });
    refuses(ErrorCode::InvalidArgument, "tokens", [](Arguments& a) { a.tokens = 3; });
    refuses(ErrorCode::CapacityExceeded, "recv_rows", [&](Arguments& a) { a.recv_x = small; });
    two.expect_combines(two.dispatch(first.handle).handle, 7);
  }
}

/// Weights and scales that are missing, too many, or of no use; ranks that want different things.
void weights_and_scales(Rank& rank) {
  auto group = rank.make(*Placement::contiguous(4, 2), options_for(rank, 4, 64, DType::FP32, 1));
  ASSERT_TRUE(group) << to_string(group.error());
  const std::vector<float> five(5, 0.5F);
  std::vector<float> four(4);
  for (const RowLayout layout : {RowLayout::RankMajor, RowLayout::ExpertMajor}) {
    TwoRanks two(rank, *group, layout);
    const auto received = two.dispatch();
    using Arguments = railwave::CombineArguments;
    const auto refuses = [&](ErrorCode code, const char* field, auto change) {
      two.expect_refused(two.rows(received.handle, 2), code, field, change);
    };
    refuses(ErrorCode::InvalidArgument, "topk_weights",
            [&](Arguments& a) { a.topk_weights = five; });
    refuses(ErrorCode::InvalidArgument, "topk_weights",
            [](Arguments& a) { a.return_weights = true; });
    refuses(ErrorCode::InvalidArgument, "out_topk_weights", [&](Arguments& a) {
      a.return_weights = true;
      a.topk_weights = five;
    });
    refuses(ErrorCode::InvalidArgument, "out_topk_weights",
            [&](Arguments& a) { a.out_topk_weights = four; });
    refuses(ErrorCode::InvalidArgument, "out", [](Arguments& a) { a.bias0 = a.out.data() + 4; });
    refuses(ErrorCode::Unsupported, "dtype", [](Arguments& a) { a.dtype = DType::FP8E4M3; });
    refuses(ErrorCode::InvalidArgument, "dtype", [](Arguments& a) { a.dtype = DType{77}; });
    if (layout == RowLayout::RankMajor) {
      refuses(ErrorCode::InvalidArgument, "apply_weights", [&](Arguments& a) {
        a.apply_weights = true;
        a.topk_weights = five;
      });
    }
    two.expect_refused(two.input(), ErrorCode::InvalidArgument, "scales",
                       [](railwave::DispatchArguments& a) { a.dtype = DType::FP8E4M3; });
    two.expect_refused(two.input(), ErrorCode::InvalidArgument, "scales",
                       [&](railwave::DispatchArguments& a) { a.scales = five; });
    // Right on each rank, but not the same: all ranks are told of rank 1.
    Arguments combine = two.rows(received.handle, 2);
    if (rank.self.value == 1) {
      combine.return_weights = true;
      combine.topk_weights = std::span(five).first(3);
      combine.out_topk_weights = four;
    }
    const auto combined = group->combine(combine);
    ASSERT_FALSE(combined);
    EXPECT_EQ(combined.error().code, ErrorCode::Mismatch);
    EXPECT_EQ(combined.error().field, "return_weights");
    EXPECT_EQ(combined.error().rank, 1);
    two.expect_combines(received.handle, 8);
  }
}

}  // namespace cases
