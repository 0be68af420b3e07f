// A rank of a cluster of 2 nodes x 2 ranks x 2 rails that uses the C interface. Token t of rank r
// has the value 8 r + t + 1 in all its elements and chooses one expert of each of two ranks.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "comm/c_api/owned.hpp"

namespace c_api {

constexpr int kRanks = 4;
constexpr int kTokens = 3;
constexpr int kTopK = 2;
constexpr int kHidden = 130;  // two scales a row
constexpr int kScales = 2;

inline float value_of(int rank, int token) { return static_cast<float>(8 * rank + token + 1); }

/// The expert of each slot: expert e lives on rank e / 2.
inline int expert_of(int rank, int token, int slot) {
  return 2 * ((rank + token + slot + 1) % kRanks) + slot;
}

inline float weight_of(int slot) { return slot == 0 ? 0.25F : 0.5F; }

/// One rank's group and input.
struct Side {
  int rank = 0;
  Topology topology = uniform(2, 2, 2);
  Placement placement = contiguous(2 * kRanks, kRanks);
  std::vector<std::string> devices{};
  std::vector<const char*> names{};
  std::vector<float> x{};
  int in_flight = 1;
  std::vector<std::int64_t> topk_idx{};
  std::vector<float> weights{};
  Group group{};

  explicit Side(int self, int phases = 1) : rank(self), x(kTokens * kHidden), in_flight(phases) {
    std::istringstream rails(std::getenv("RAILWAVE_RAILS"));
    for (std::string device; std::getline(rails, device, ',');) devices.push_back(device);
    for (int token = 0; token < kTokens; ++token) {
      std::fill_n(x.begin() + token * kHidden, kHidden, value_of(self, token));
      for (int slot = 0; slot < kTopK; ++slot) {
        topk_idx.push_back(expert_of(self, token, slot));
        weights.push_back(weight_of(slot));
      }
    }
    for (const std::string& device : devices) names.push_back(device.c_str());
    group = make_group();
  }

  [[nodiscard]] railwave_group_config settings() const {
    auto config = sized<railwave_group_config>();
    config.rank = rank;
    config.max_top_k = kTopK;
    config.max_tokens_per_rank = kTokens;
    config.max_recv_rows = 64;
    config.max_hidden = kHidden;
    config.shared_bytes = 4096;
    config.widest_dtype = RAILWAVE_FP32;
    config.init_ms = config.first_operation_ms = config.operation_ms = 10000;
    config.rail_devices = names.data();
    config.phases_in_flight = in_flight;
    return config;
  }

  [[nodiscard]] Group make_group() const {
    const railwave_group_config config = settings();
    railwave_group* made = nullptr;
    EXPECT_EQ(railwave_group_create(topology.get(), placement.get(), &config, &made),
              RAILWAVE_SUCCESS)
        << railwave_last_error()->sentence;
    return Group(made);
  }

  [[nodiscard]] railwave_dispatch_config input() const {
    auto config = sized<railwave_dispatch_config>();
    config.x = x.data();
    config.tokens = kTokens;
    config.hidden = kHidden;
    config.dtype = RAILWAVE_FP32;
    config.top_k = kTopK;
    config.topk_idx = topk_idx.data();
    config.topk_weights = weights.data();
    return config;
  }

  [[nodiscard]] Received dispatch(const railwave_dispatch_config& config) const {
    railwave_received* received = nullptr;
    EXPECT_EQ(railwave_dispatch(group.get(), &config, &received), RAILWAVE_SUCCESS)
        << railwave_last_error()->sentence;
    return Received(received);
  }

  /// A step with the group's own input, to see that it still works.
  void expect_works() const { EXPECT_NE(dispatch(input()), nullptr); }
};

inline railwave_rows rows_of(const Received& received) {
  auto rows = sized<railwave_rows>();
  EXPECT_EQ(railwave_received_rows(received.get(), &rows), RAILWAVE_SUCCESS);
  return rows;
}

inline Handle handle_of(const Received& received) {
  railwave_handle* handle = nullptr;
  EXPECT_EQ(railwave_received_handle(received.get(), &handle), RAILWAVE_SUCCESS);
  return Handle(handle);
}

/// By the definition of the expert-major layout: the values of a local expert's rows.
inline std::vector<float> group_values(int rank, int local_expert) {
  std::vector<float> values;
  for (int source = 0; source < kRanks; ++source) {
    for (int token = 0; token < kTokens; ++token) {
      for (int slot = 0; slot < kTopK; ++slot) {
        if (expert_of(source, token, slot) == 2 * rank + local_expert) {
          values.push_back(value_of(source, token));
        }
      }
    }
  }
  return values;
}

inline void expect_groups(const Side& side, const railwave_rows& rows) {
  ASSERT_EQ(rows.local_experts, 2);
  EXPECT_EQ(rows.topk_idx, nullptr);
  EXPECT_EQ(rows.scales, nullptr);
  EXPECT_EQ(rows.rows, rows.expert_offsets[2]);
  for (int expert = 0; expert < 2; ++expert) {
    const auto values = group_values(side.rank, expert);
    EXPECT_EQ(rows.unaligned_tokens_per_expert[expert], static_cast<std::int64_t>(values.size()));
    EXPECT_EQ(rows.tokens_per_expert[expert], 4);
    EXPECT_EQ(rows.expert_offsets[expert], 4 * expert);
    for (std::size_t row = 0; row < 4; ++row) {
      const float wanted = row < values.size() ? values[row] : 0.0F;
      const auto* x = static_cast<const float*>(rows.x) +
                      (4 * static_cast<std::size_t>(expert) + row) * kHidden;
      EXPECT_EQ(x[0], wanted) << expert << " " << row;
      EXPECT_EQ(x[kHidden - 1], wanted) << expert << " " << row;
    }
  }
}

}  // namespace c_api
