// Structs that start with their size: shorter and longer ones than the library knows.
#include <array>
#include <cstddef>
#include <cstring>

#include <gtest/gtest.h>

#include "comm/c_api/owned.hpp"

namespace c_api {
namespace {

/// A struct as a later version of the header would have it.
template <class Struct>
struct Longer {
  Struct known;
  std::array<std::int64_t, 2> later;
};

railwave_group_config config_for_one_rank() {
  auto config = sized<railwave_group_config>();
  config.max_tokens_per_rank = 16;
  config.max_recv_rows = 32;
  config.max_hidden = 64;
  return config;
}

class CStructs : public testing::Test {
 protected:
  railwave_result size_of(const railwave_group_config& config) {
    workspace_ = {sizeof(railwave_workspace), -1, -1};
    return railwave_workspace_size(topology_.get(), &config, &workspace_);
  }
  Topology topology_ = uniform(2, 1, 2);
  railwave_workspace workspace_{};
};

TEST_F(CStructs, MembersBeyondTheSizeTakeTheirDefaults) {
  railwave_group_config config = config_for_one_rank();
  ASSERT_EQ(size_of(config), RAILWAVE_SUCCESS);
  const railwave_workspace by_default = workspace_;
  config.chunk_bytes = 1;
  config.send_slots = 9;
  ASSERT_EQ(size_of(config), RAILWAVE_SUCCESS);
  EXPECT_NE(workspace_.send_slots, by_default.send_slots);
  config.send_slots = 0;
  config.operation_ms = -1;
  config.size = offsetof(railwave_group_config, chunk_bytes);
  ASSERT_EQ(size_of(config), RAILWAVE_SUCCESS);
  EXPECT_EQ(workspace_.segment, by_default.segment);
  EXPECT_EQ(workspace_.send_slots, by_default.send_slots);
}

TEST_F(CStructs, DefaultsAreThoseOfTheHeader) {
  railwave_group_config config = config_for_one_rank();
  ASSERT_EQ(size_of(config), RAILWAVE_SUCCESS);
  const railwave_workspace by_default = workspace_;
  config.max_top_k = 1;
  config.widest_dtype = RAILWAVE_BF16;
  config.send_slots = 4;
  config.chunk_bytes = 65536;
  config.wave_start = RAILWAVE_START_RAIL_BARRIER;
  config.window_start = RAILWAVE_START_SUBMISSION;
  config.init_ms = 30000;
  ASSERT_EQ(size_of(config), RAILWAVE_SUCCESS);
  EXPECT_EQ(workspace_.segment, by_default.segment);
  EXPECT_EQ(workspace_.send_slots, by_default.send_slots);
  config.widest_dtype = RAILWAVE_FP32;
  ASSERT_EQ(size_of(config), RAILWAVE_SUCCESS);
  EXPECT_GT(workspace_.segment, by_default.segment);
}

TEST_F(CStructs, AnUnknownTailMustBeZero) {
  Longer<railwave_group_config> longer{config_for_one_rank(), {0, 0}};
  longer.known.size = sizeof longer;
  EXPECT_EQ(size_of(longer.known), RAILWAVE_SUCCESS);
  longer.later[1] = std::int64_t{1} << 56;  // its last byte
  EXPECT_EQ(size_of(longer.known), RAILWAVE_INVALID_ARGUMENT);
  EXPECT_STREQ(railwave_last_error()->field, "config");
  longer.known.size -= sizeof(std::int64_t);
  EXPECT_EQ(size_of(longer.known), RAILWAVE_SUCCESS);
}

TEST_F(CStructs, ASizeThatCanNotBeIsRefused) {
  railwave_group_config config = config_for_one_rank();
  for (const std::size_t size : {std::size_t{0}, std::size_t{4}, sizeof config - 4,
                                 std::size_t{1} << 20, static_cast<std::size_t>(-8)}) {
    config.size = size;
    EXPECT_EQ(size_of(config), RAILWAVE_INVALID_ARGUMENT) << size;
    EXPECT_STREQ(railwave_last_error()->field, "config") << size;
  }
}

TEST_F(CStructs, OutputsAreWrittenAsFarAsTheyReach) {
  const railwave_group_config config = config_for_one_rank();
  Longer<railwave_workspace> longer{{sizeof longer, -1, -1}, {-1, -1}};
  ASSERT_EQ(railwave_workspace_size(topology_.get(), &config, &longer.known), RAILWAVE_SUCCESS);
  EXPECT_EQ(longer.known.size, sizeof longer);
  EXPECT_GT(longer.known.segment, 0);
  EXPECT_GT(longer.known.send_slots, 0);
  EXPECT_EQ(longer.later, (std::array<std::int64_t, 2>{0, 0}));

  railwave_workspace shorter{offsetof(railwave_workspace, send_slots), -1, -1};
  ASSERT_EQ(railwave_workspace_size(topology_.get(), &config, &shorter), RAILWAVE_SUCCESS);
  EXPECT_EQ(shorter.segment, longer.known.segment);
  EXPECT_EQ(shorter.send_slots, -1);

  railwave_workspace unset{};
  EXPECT_EQ(railwave_workspace_size(topology_.get(), &config, &unset), RAILWAVE_INVALID_ARGUMENT);
  EXPECT_STREQ(railwave_last_error()->field, "workspace");
}

TEST_F(CStructs, ChoicesThatAreNoneAreNamed) {
  const auto expect_refused = [&](auto member, auto value, const char* field) {
    railwave_group_config config = config_for_one_rank();
    config.*member = value;
    EXPECT_EQ(size_of(config), RAILWAVE_INVALID_ARGUMENT) << field;
    EXPECT_STREQ(railwave_last_error()->field, field);
  };
  expect_refused(&railwave_group_config::widest_dtype, 5, "widest_dtype");
  expect_refused(&railwave_group_config::wave_start, -1, "wave_start");
  expect_refused(&railwave_group_config::window_start, 256, "window_start");
  expect_refused(&railwave_group_config::init_ms, -1, "init_ms");
  expect_refused(&railwave_group_config::first_operation_ms, INT64_MAX, "first_operation_ms");
  expect_refused(&railwave_group_config::operation_ms, -5, "operation_ms");
  expect_refused(&railwave_group_config::max_top_k, -1, "max_top_k");
  expect_refused(&railwave_group_config::rank, 2, "self");
}

}  // namespace
}  // namespace c_api
