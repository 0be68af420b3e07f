// D10: ranks that disagree, about the group or about a call.
#include <chrono>

#include <gtest/gtest.h>

#include "comm/cases/bodies.hpp"
#include "comm/cases/guarded.hpp"
#include "comm/cases/step.hpp"

namespace cases {
namespace {

void expect_mismatch(const Rank& rank, const railwave::Error& error, const std::string& field) {
  EXPECT_EQ(error.code, ErrorCode::Mismatch)
      << "rank " << rank.self.value << ": " << to_string(error);
  EXPECT_EQ(error.rank, 1) << to_string(error);
  EXPECT_EQ(error.field, field) << to_string(error);
}

class Within2Seconds {
 public:
  ~Within2Seconds() {
    EXPECT_LT(std::chrono::steady_clock::now() - begin_, std::chrono::seconds(2));
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

/// Rank 1 makes the group with one other setting.
void d10_settings_differ(Rank& rank) {
  struct Difference {
    const char* field;
    void (*change)(CommunicatorOptions&);
  };
  const std::vector<Difference> differences{
      {"max_top_k", [](CommunicatorOptions& o) { o.max_top_k = 3; }},
      {"max_hidden", [](CommunicatorOptions& o) { o.max_hidden = 128; }},
      {"widest_dtype", [](CommunicatorOptions& o) { o.widest_dtype = DType::FP32; }},
      {"max_tokens_per_rank", [](CommunicatorOptions& o) { o.max_tokens_per_rank = 32; }},
      {"num_experts", [](CommunicatorOptions&) {}}};
  for (const Difference& difference : differences) {
    rank.doing(std::string("differing in ") + difference.field);
    CommunicatorOptions options = options_for(rank, 16, 64, DType::BF16, 2);
    int experts = 6;
    if (rank.self.value == 1) {
      difference.change(options);
      if (std::string_view(difference.field) == "num_experts") experts = 9;
    }
    const Within2Seconds limit;
    const auto group = rank.make(*Placement::contiguous(experts, 3), options);
    ASSERT_FALSE(group);
    expect_mismatch(rank, group.error(), difference.field);
  }
}

/// Rank 1 makes another call than the others.
void d10_calls_differ(Rank& rank) {
  const auto placement = *Placement::contiguous(6, 3);
  auto group = rank.make(placement, options_for(rank, 16, 128, DType::FP32, 3));
  ASSERT_TRUE(group) << to_string(group.error());
  struct Difference {
    const char* field;
    void (*change)(railwave::DispatchArguments&);
  };
  const std::vector<Difference> differences{
      {"path", [](railwave::DispatchArguments& a) { a.path = Path::Native; }},
      {"top_k", [](railwave::DispatchArguments& a) { a.top_k = 3; }},
      {"hidden", [](railwave::DispatchArguments& a) { a.hidden = 128; }},
      {"dtype", [](railwave::DispatchArguments& a) { a.dtype = DType::FP32; }}};
  const std::vector<std::byte> x(128 * 4);
  const std::vector<std::int64_t> idx(3, 4);
  for (const Difference& difference : differences) {
    rank.doing(std::string("differing in ") + difference.field);
    Guarded recv_x(std::size_t{3} * 128 * 4);
    railwave::DispatchArguments in;
    in.x = x.data();
    in.tokens = 1;
    in.hidden = 64;
    in.top_k = 2;
    if (rank.self.value == 1) difference.change(in);
    in.topk_idx = std::span(idx).first(static_cast<std::size_t>(in.top_k));
    in.recv_x = recv_x.inside();
    {
      const Within2Seconds limit;
      rank.pause();
      const auto received = group->dispatch(in);
      ASSERT_FALSE(received);
      expect_mismatch(rank, received.error(), difference.field);
    }
    EXPECT_TRUE(recv_x.untouched());
  }
  Step step;
  step.top_k = 2;
  step.weights = {0.5F, 0.5F};
  step.idx = {{0, 5}, {3, 1}, {2, 4}};
  Seen seen;
  on_all_paths(rank, [&](Path path, Bits& bits) {
    ASSERT_NO_FATAL_FAILURE(run_step(rank, *group, placement, step, path, seen));
    bits.add(std::as_bytes(std::span(seen.y)));
  });
}

}  // namespace cases
