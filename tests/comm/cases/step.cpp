#include "comm/cases/step.hpp"

#include <cstring>
#include <numeric>

#include <gtest/gtest.h>

#include "comm/cases/guarded.hpp"
#include "group/random_phase.hpp"

namespace cases {
namespace {

std::size_t row_bytes(const Step& step) {
  return static_cast<std::size_t>(step.hidden * element_bytes(step.dtype));
}

void fill_row(const Step& step, std::byte* row, float value) {
  for (int h = 0; h < step.hidden; ++h) {
    phases::store(row, h, value, step.dtype == DType::BF16);
  }
}

bool row_holds(const Step& step, const std::byte* row, float value) {
  std::vector<std::byte> wanted(row_bytes(step));
  fill_row(step, wanted.data(), value);
  return std::memcmp(row, wanted.data(), wanted.size()) == 0;
}

float first_of(const Step& step, const std::byte* row) {
  std::uint32_t bits = 0;
  if (step.dtype == DType::BF16) {
    std::memcpy(reinterpret_cast<std::byte*>(&bits) + 2, row, 2);
  } else {
    std::memcpy(&bits, row, 4);
  }
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}

/// The rows of the experts: each slot's weighted (e + 1) x, slots in ascending order.
void run_experts(const Step& step, const std::vector<reference::Row>& rows,
                 const railwave::Received& received, std::span<const railwave::ExpertId> owned,
                 std::byte* out) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    float sum = 0;
    for (std::size_t k = 0; k < static_cast<std::size_t>(step.top_k); ++k) {
      const std::size_t slot = i * static_cast<std::size_t>(step.top_k) + k;
      const std::int64_t local = received.topk_idx[slot];
      if (local < 0) continue;
      const int expert = owned[static_cast<std::size_t>(local)].value;
      sum += received.topk_weights[slot] * static_cast<float>(expert + 1) *
             step.x(rows[i].source, rows[i].token);
    }
    fill_row(step, out + i * row_bytes(step), sum);
  }
}

void check_received(const Rank& rank, const Step& step, const reference::Model& model,
                    const std::vector<reference::Row>& rows, const railwave::Received& received) {
  const int self = rank.self.value;
  std::vector<std::int64_t> counts(received.tokens_per_expert.size(), 0);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto [source, token] = rows[i];
    ASSERT_TRUE(row_holds(step, received.x + i * row_bytes(step), step.x(source, token)))
        << "rank " << self << ", row " << i << " of token (" << source << ", " << token << ")";
    for (int k = 0; k < step.top_k; ++k) {
      const std::int64_t e = model.idx[static_cast<std::size_t>(source)]
                                      [static_cast<std::size_t>(token * step.top_k + k)];
      const bool mine = e >= 0 && model.owner[static_cast<std::size_t>(e)] == self;
      std::int64_t local = mine ? 0 : -1;
      for (std::int64_t f = 0; mine && f < e; ++f) {
        local += model.owner[static_cast<std::size_t>(f)] == self ? 1 : 0;
      }
      if (mine) ++counts[static_cast<std::size_t>(local)];
      const std::size_t slot =
          i * static_cast<std::size_t>(step.top_k) + static_cast<std::size_t>(k);
      ASSERT_EQ(received.topk_idx[slot], local)
          << "rank " << self << ", row " << i << ", slot " << k;
      ASSERT_EQ(received.topk_weights[slot],
                mine ? step.weights[static_cast<std::size_t>(k)] : 0.0F);
    }
  }
  EXPECT_EQ(received.tokens_per_expert, counts) << "rank " << self;
}

/// y of token (p, t) by the cases' formula; exact, since all values are small.
float expected_y(const Step& step, std::size_t p, std::size_t t) {
  float sum = 0;
  for (std::size_t k = 0; k < static_cast<std::size_t>(step.top_k); ++k) {
    const std::int64_t e = step.idx[p][t * static_cast<std::size_t>(step.top_k) + k];
    if (e < 0) continue;
    sum += step.weights[k] * static_cast<float>(e + 1) *
           step.x(static_cast<int>(p), static_cast<int>(t));
  }
  return sum;
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
  model.bf16 = step.dtype == DType::BF16;
  model.idx = step.idx;
  return model;
}

std::int64_t sum_of(const std::vector<std::int64_t>& values) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}

void run_step(Rank& rank, Communicator& group, const Placement& placement, const Step& step,
              Path path, Seen& seen) {
  const std::size_t self = rank.self.index();
  const reference::Model model = model_of(step, rank.topology, placement);
  const auto rows = reference::received_rows(model, rank.self.value);
  const auto tokens = static_cast<std::size_t>(model.tokens(self));
  std::vector<std::byte> x(tokens * row_bytes(step));
  std::vector<float> weights;
  for (std::size_t t = 0; t < tokens; ++t) {
    fill_row(step, x.data() + t * row_bytes(step), step.x(rank.self.value, static_cast<int>(t)));
    weights.insert(weights.end(), step.weights.begin(), step.weights.end());
  }
  Guarded recv_x(rows.size() * row_bytes(step));
  railwave::DispatchArguments in;
  in.x = x.data();
  in.tokens = static_cast<std::int64_t>(tokens);
  in.hidden = step.hidden;
  in.dtype = step.dtype;
  in.top_k = step.top_k;
  in.topk_idx = step.idx[self];
  in.topk_weights = weights;
  in.path = path;
  in.recv_x = recv_x.inside();
  const std::uint64_t before = group.operations();
  rank.doing("dispatch on " + std::string(to_string(path)));
  rank.pause();
  const auto received = group.dispatch(in);
  ASSERT_TRUE(received) << "rank " << self << ": " << to_string(received.error());
  ASSERT_EQ(received->rows, static_cast<std::int64_t>(rows.size())) << "rank " << self;
  EXPECT_TRUE(recv_x.guards_intact());
  ASSERT_NO_FATAL_FAILURE(check_received(rank, step, model, rows, *received));

  std::vector<std::byte> back(rows.size() * row_bytes(step));
  run_experts(step, rows, *received, placement.owned(rank.self), back.data());
  Guarded out(x.size());
  railwave::CombineArguments combine;
  combine.handle = received->handle;
  combine.x = back.data();
  combine.rows = received->rows;
  combine.hidden = step.hidden;
  combine.dtype = step.dtype;
  combine.out = out.inside();
  rank.doing("combine on " + std::string(to_string(path)));
  rank.pause();
  const auto combined = group.combine(combine);
  ASSERT_TRUE(combined) << "rank " << self << ": " << to_string(combined.error());
  EXPECT_TRUE(out.guards_intact());
  EXPECT_EQ(group.operations(), before + 2);
  seen.y.clear();
  for (std::size_t t = 0; t < tokens; ++t) {
    const std::byte* row = out.inside().data() + t * row_bytes(step);
    seen.y.push_back(first_of(step, row));
    ASSERT_TRUE(row_holds(step, row, expected_y(step, self, t)))
        << "rank " << self << ", token " << t << ": " << seen.y.back() << ", expected "
        << expected_y(step, self, t);
  }
  seen.rows = received->rows;
  seen.per_expert = received->tokens_per_expert;
  seen.assignments = sum_of(seen.per_expert);
  seen.dispatched = received->report;
  seen.combined = *combined;
}

}  // namespace cases
