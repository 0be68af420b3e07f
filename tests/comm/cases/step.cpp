#include "comm/cases/step.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include <gtest/gtest.h>

#include "comm/cases/guarded.hpp"
#include "group/elements.hpp"

namespace cases {
namespace {

reference::Type type_of(DType dtype) {
  return dtype == DType::BF16   ? reference::Type::BF16
         : dtype == DType::FP16 ? reference::Type::FP16
                                : reference::Type::FP32;
}

/// Rows of one dtype whose elements are all the same. Values of fp8 rows are their bytes.
struct Rows {
  DType dtype;
  int hidden;
  [[nodiscard]] std::size_t bytes() const {
    return static_cast<std::size_t>(hidden * element_bytes(dtype));
  }
  [[nodiscard]] int scales() const {
    return static_cast<int>(railwave::scales_per_row(dtype, hidden));
  }
  void fill(std::byte* row, float value) const {
    for (int h = 0; h < hidden; ++h) {
      if (dtype == DType::FP8E4M3) {
        row[h] = static_cast<std::byte>(static_cast<int>(value));
      } else {
        phases::store(row, h, reference::round_as(type_of(dtype), value), type_of(dtype));
      }
    }
  }
  [[nodiscard]] bool holds(const std::byte* row, float value) const {
    std::vector<std::byte> wanted(bytes());
    fill(wanted.data(), value);
    return std::memcmp(row, wanted.data(), wanted.size()) == 0;
  }
};

/// What one rank does in a step.
class RankStep {
 public:
  RankStep(Rank& rank, const Placement& placement, const Step& step)
      : rank_(rank),
        step_(step),
        owned_(placement.owned(rank.self)),
        self_(rank.self.value),
        model_(model_of(step, rank.topology, placement)),
        sent_{step.variant.sent, step.hidden},
        back_{step.variant.returned(), step.hidden},
        expert_major_(step.variant.layout == RowLayout::ExpertMajor),
        rows_(expert_major_ ? reference::expert_rows(model_, self_, step.alignment)
                            : reference::received_rows(model_, self_)),
        recv_x_(rows_.size() * sent_.bytes()),
        recv_scales_(rows_.size() * static_cast<std::size_t>(sent_.scales()),
                     std::numeric_limits<float>::quiet_NaN()) {}

  void dispatch(Communicator& group, Path path, Seen& seen);
  void combine(Communicator& group, Path path, Seen& seen);

 private:
  [[nodiscard]] std::size_t tokens() const {
    return static_cast<std::size_t>(model_.tokens(rank_.self.index()));
  }
  [[nodiscard]] float scale_of(int source, int token) const {
    return 0.5F + step_.x(source, token);
  }
  void check_rows(const railwave::Received& received) const;
  void check_slots(const railwave::Received& received) const;
  void check_groups(const railwave::Received& received) const;
  /// What this rank's expert side returns for a slot, or for all its slots of a token (-1).
  [[nodiscard]] float expert_value(int q, int source, int token, int slot) const;
  [[nodiscard]] std::vector<float> expected() const;

  Rank& rank_;
  const Step& step_;
  std::span<const railwave::ExpertId> owned_;
  int self_;
  reference::Model model_;
  Rows sent_;
  Rows back_;
  bool expert_major_;
  std::vector<reference::Row> rows_;
  Guarded recv_x_;
  std::vector<float> recv_scales_;
  railwave::Handle handle_;
  std::vector<float> received_weights_;
};

void RankStep::check_rows(const railwave::Received& received) const {
  ASSERT_EQ(received.rows, static_cast<std::int64_t>(rows_.size())) << "rank " << self_;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const auto [source, token, slot] = rows_[i];
    ASSERT_TRUE(
        sent_.holds(received.x + i * sent_.bytes(), source < 0 ? 0.0F : step_.x(source, token)))
        << "rank " << self_ << ", row " << i << " of token (" << source << ", " << token << ")";
    for (int b = 0; b < sent_.scales(); ++b) {
      ASSERT_EQ(received.scales[static_cast<int>(i) * sent_.scales() + b],
                source < 0 ? 0.0F : scale_of(source, token))
          << "rank " << self_ << ", row " << i;
    }
  }
}

void RankStep::check_slots(const railwave::Received& received) const {
  std::vector<std::int64_t> counts(owned_.size(), 0);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    for (int k = 0; k < step_.top_k; ++k) {
      const int source = rows_[i].source;
      const int token = rows_[i].token;
      const bool mine = model_.rank_of(source, token, k) == self_;
      const std::int64_t local = mine ? model_.local(model_.expert(source, token, k)) : -1;
      if (mine) ++counts[static_cast<std::size_t>(local)];
      const std::size_t slot =
          i * static_cast<std::size_t>(step_.top_k) + static_cast<std::size_t>(k);
      ASSERT_EQ(received.topk_idx[slot], local)
          << "rank " << self_ << ", row " << i << ", slot " << k;
      ASSERT_EQ(received.topk_weights[slot],
                mine ? step_.weights[static_cast<std::size_t>(k)] : 0.0F);
    }
  }
  EXPECT_EQ(received.unaligned_tokens_per_expert, counts) << "rank " << self_;
}

void RankStep::check_groups(const railwave::Received& received) const {
  std::vector<std::int64_t> counts(owned_.size(), 0);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const auto [source, token, slot] = rows_[i];
    ASSERT_EQ(received.topk_weights[i],
              source < 0 ? 0.0F : step_.weights[static_cast<std::size_t>(slot)])
        << "rank " << self_ << ", row " << i;
    if (source >= 0) {
      ++counts[static_cast<std::size_t>(model_.local(model_.expert(source, token, slot)))];
    }
  }
  EXPECT_EQ(received.unaligned_tokens_per_expert, counts) << "rank " << self_;
  EXPECT_EQ(received.expert_offsets.back(), received.rows);
}

void RankStep::dispatch(Communicator& group, Path path, Seen& seen) {
  std::vector<std::byte> x(tokens() * sent_.bytes());
  std::vector<float> scales;
  std::vector<float> weights;
  for (std::size_t t = 0; t < tokens(); ++t) {
    sent_.fill(x.data() + t * sent_.bytes(), step_.x(self_, static_cast<int>(t)));
    scales.insert(scales.end(), static_cast<std::size_t>(sent_.scales()),
                  scale_of(self_, static_cast<int>(t)));
    weights.insert(weights.end(), step_.weights.begin(), step_.weights.end());
  }
  // Padding may take more than it does; that room is not to be written either.
  const std::size_t padding =
      expert_major_ ? owned_.size() * static_cast<std::size_t>(step_.alignment - 1) : 0;
  recv_x_ = Guarded((rows_.size() + padding) * sent_.bytes());
  recv_scales_.resize((rows_.size() + padding) * static_cast<std::size_t>(sent_.scales()));
  railwave::DispatchArguments in;
  in.x = x.data();
  in.scales = scales;
  in.tokens = static_cast<std::int64_t>(tokens());
  in.hidden = step_.hidden;
  in.dtype = sent_.dtype;
  in.top_k = step_.top_k;
  in.topk_idx = step_.idx[rank_.self.index()];
  in.topk_weights = weights;
  in.path = path;
  in.layout = step_.variant.layout;
  in.expert_alignment = expert_major_ ? step_.alignment : 1;
  in.recv_x = recv_x_.inside();
  in.recv_scales = recv_scales_;
  rank_.doing("dispatch on " + std::string(to_string(path)));
  rank_.pause();
  const auto received = group.dispatch(in);
  ASSERT_TRUE(received) << "rank " << self_ << ": " << to_string(received.error());
  EXPECT_TRUE(recv_x_.guards_intact());
  EXPECT_TRUE(recv_x_.untouched_from(rows_.size() * sent_.bytes()));
  ASSERT_NO_FATAL_FAILURE(check_rows(*received));
  if (expert_major_) {
    ASSERT_NO_FATAL_FAILURE(check_groups(*received));
  } else {
    ASSERT_NO_FATAL_FAILURE(check_slots(*received));
  }
  handle_ = received->handle;
  received_weights_ = received->topk_weights;
  seen.per_expert = received->unaligned_tokens_per_expert;
  seen.assignments = sum_of(seen.per_expert);
  seen.one_a_slot = expert_major_;
  seen.y_is_exact = back_.dtype == DType::FP32;
  seen.rows = expert_major_ ? seen.assignments : received->rows;
  seen.dispatched = received->report;
}

float RankStep::expert_value(int q, int source, int token, int slot) const {
  const float x = step_.x(source, token);
  const auto returned = [&](int k) {
    return static_cast<float>(model_.expert(source, token, k) + 1) * x;
  };
  if (slot >= 0) return reference::round_as(model_.type, returned(slot));
  float sum = 0;
  for (int k = 0; k < step_.top_k; ++k) {
    if (model_.rank_of(source, token, k) != q) continue;
    sum += step_.weights[static_cast<std::size_t>(k)] * returned(k);
  }
  return reference::round_as(model_.type, sum);
}

std::vector<float> RankStep::expected() const {
  reference::Model one_column = model_;
  one_column.hidden = 1;
  return reference::combined(
      one_column, self_,
      [&](int q, int source, int token, int slot, int) {
        const float value = expert_value(q, source, token, slot);
        return slot < 0 ? value : step_.weights[static_cast<std::size_t>(slot)] * value;
      },
      expert_major_);
}

void RankStep::combine(Communicator& group, Path path, Seen& seen) {
  // Padding keeps its NaN.
  std::vector<std::byte> back(rows_.size() * back_.bytes(), std::byte{0xff});
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    if (rows_[i].source < 0) continue;
    back_.fill(back.data() + i * back_.bytes(),
               expert_value(self_, rows_[i].source, rows_[i].token, rows_[i].slot));
  }
  Guarded out(tokens() * back_.bytes());
  railwave::CombineArguments combine;
  combine.handle = handle_;
  combine.x = back.data();
  combine.rows = static_cast<std::int64_t>(rows_.size());
  combine.hidden = step_.hidden;
  combine.dtype = back_.dtype;
  combine.out = out.inside();
  combine.apply_weights = expert_major_;
  if (expert_major_) combine.topk_weights = received_weights_;
  rank_.doing("combine on " + std::string(to_string(path)));
  rank_.pause();
  const auto combined = group.combine(combine);
  ASSERT_TRUE(combined) << "rank " << self_ << ": " << to_string(combined.error());
  EXPECT_TRUE(out.guards_intact());
  seen.y = expected();
  seen.combined = *combined;
  for (std::size_t t = 0; t < tokens(); ++t) {
    ASSERT_TRUE(back_.holds(out.inside().data() + t * back_.bytes(), seen.y[t]))
        << "rank " << self_ << ", token " << t << ": not " << seen.y[t];
  }
}

}  // namespace

reference::Model model_of(const Step& step, const Topology& topology, const Placement& placement) {
  reference::Model model;
  for (int p = 0; p < topology.ranks(); ++p) {
    model.node_of_rank.push_back(topology.node_of(RankId(p)).value);
  }
  for (int e = 0; e < placement.experts(); ++e) {
    model.owner.push_back(placement.owner(railwave::ExpertId(e)).value);
  }
  model.top_k = step.top_k;
  model.hidden = step.hidden;
  model.type = type_of(step.variant.returned());
  model.idx = step.idx;
  return model;
}

std::int64_t row_bytes_of(const Step& step) {
  const DType sent = step.variant.sent;
  return step.hidden * element_bytes(sent) + 4 * railwave::scales_per_row(sent, step.hidden);
}

std::int64_t sum_of(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

void run_step(Rank& rank, Communicator& group, const Placement& placement, const Step& step,
              Path path, Seen& seen) {
  RankStep of_rank(rank, placement, step);
  const std::uint64_t before = group.operations();
  ASSERT_NO_FATAL_FAILURE(of_rank.dispatch(group, path, seen));
  ASSERT_NO_FATAL_FAILURE(of_rank.combine(group, path, seen));
  EXPECT_EQ(group.operations(), before + 2);
}

}  // namespace cases
