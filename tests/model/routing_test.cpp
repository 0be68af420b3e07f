// Which routings are accepted.
#include "model/routing.hpp"

#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace railwave {
namespace {

using ::testing::HasSubstr;

constexpr RankId kSelf{2};

class RoutingCheck : public ::testing::Test {
 protected:
  Status check(std::int64_t tokens, int top_k) {
    return Routing{tokens, top_k, ids_}.check(placement_, kSelf);
  }
  Error rejected(std::int64_t tokens, int top_k) {
    const Status status = check(tokens, top_k);
    EXPECT_FALSE(status);
    if (status) return {};
    EXPECT_EQ(status.error().code, ErrorCode::InvalidArgument);
    EXPECT_EQ(status.error().rank, kSelf.value);
    return status.error();
  }
  Placement placement_ = Placement::contiguous(8, 4).value();
  std::vector<std::int64_t> ids_;
};

TEST_F(RoutingCheck, ValidIdsAndEmptySlots) {
  ids_ = {0, 7, -1, 3, 5, 5};
  EXPECT_TRUE(check(3, 2));
  EXPECT_TRUE(check(2, 3));
}

TEST_F(RoutingCheck, NoTokens) { EXPECT_TRUE(check(0, 2)); }

/// Case D04, and ids that look valid after truncation to 32 bits.
TEST_F(RoutingCheck, ExpertIdOutOfRange) {
  constexpr std::int64_t k32 = std::int64_t{1} << 32;
  for (const std::int64_t bad :
       {std::int64_t{8}, std::int64_t{-2}, std::int64_t{2147483647}, std::int64_t{-2147483648}, k32,
        k32 + 3, 5 - k32, k32 - 1, 2 * k32 + 7, std::numeric_limits<std::int64_t>::max(),
        std::numeric_limits<std::int64_t>::min()}) {
    ids_ = {4, 7, bad, 0};
    const Error error = rejected(2, 2);
    EXPECT_EQ(error.field, "expert_id");
    EXPECT_THAT(error.message, HasSubstr("token 1, slot 0: value " + std::to_string(bad) + " "));
  }
}

/// Case D11(b).
TEST_F(RoutingCheck, TopKAboveExperts) {
  placement_ = Placement::contiguous(2, 2).value();
  ids_ = {0, 1, 0};
  const Error error = rejected(1, 3);
  EXPECT_EQ(error.field, "top_k");
  EXPECT_THAT(error.message, HasSubstr("top_k 3 with num_experts 2"));
}

TEST_F(RoutingCheck, TopKBelowOne) {
  EXPECT_EQ(rejected(0, 0).field, "top_k");
  EXPECT_EQ(rejected(0, -1).field, "top_k");
}

TEST_F(RoutingCheck, WrongExtent) {
  ids_ = {0, 1, 2};
  EXPECT_EQ(rejected(2, 2).field, "topk_idx");
  EXPECT_EQ(rejected(1, 2).field, "topk_idx");
  EXPECT_EQ(rejected(-1, 2).field, "topk_idx");
  // 2^62 * 4 is 0 in 64 bits.
  ids_ = {};
  EXPECT_EQ(rejected(std::int64_t{1} << 62, 4).field, "topk_idx");
}

}  // namespace
}  // namespace railwave
