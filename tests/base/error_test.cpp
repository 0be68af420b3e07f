// Typed errors: their names, their text, which end a group, how they travel.
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "base/fail.hpp"

namespace railwave {
namespace {

constexpr int kCodes = 14;

TEST(Error, EveryCodeHasItsOwnName) {
  std::set<std::string_view> names;
  for (int code = 1; code <= kCodes; ++code) names.insert(to_string(static_cast<ErrorCode>(code)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kCodes));
  EXPECT_EQ(names.count("UnknownErrorCode"), 0U);
  EXPECT_EQ(to_string(static_cast<ErrorCode>(kCodes + 1)), "UnknownErrorCode");
}

TEST(Error, SixCodesEndTheGroup) {
  std::set<ErrorCode> ending;
  for (int code = 1; code <= kCodes; ++code) {
    if (ends_group(static_cast<ErrorCode>(code))) ending.insert(static_cast<ErrorCode>(code));
  }
  EXPECT_EQ(ending, (std::set<ErrorCode>{ErrorCode::Timeout, ErrorCode::PeerFailed,
                                         ErrorCode::LinkDown, ErrorCode::IntegrityError,
                                         ErrorCode::ProtocolViolation, ErrorCode::Internal}));
}

TEST(Error, Text) {
  EXPECT_EQ(to_string(Error{ErrorCode::InvalidArgument, 2, "expert_id", "8 is too large"}),
            "InvalidArgument{rank 2, expert_id}: 8 is too large");
  EXPECT_EQ(to_string(Error{ErrorCode::Timeout, -1, "combine", "rank 3 is late"}),
            "Timeout{combine}: rank 3 is late");
  EXPECT_EQ(to_string(Error{ErrorCode::CapacityExceeded, 0, "tokens", "too many", 17, 16}),
            "CapacityExceeded{rank 0, tokens, need 17, have 16}: too many");
}

Status passes_on(Status inner, bool& reached) {
  RAILWAVE_TRY(std::move(inner));
  reached = true;
  return {};
}

TEST(Error, TryReturnsTheErrorOrGoesOn) {
  bool reached = false;
  const auto failed = passes_on(fail(ErrorCode::LinkDown, RankId(4), "rail", "gone"), reached);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::LinkDown);
  EXPECT_EQ(failed.error().rank, 4);
  EXPECT_EQ(failed.error().message, "gone");
  EXPECT_FALSE(reached);
  EXPECT_TRUE(passes_on({}, reached));
  EXPECT_TRUE(reached);
}

}  // namespace
}  // namespace railwave
