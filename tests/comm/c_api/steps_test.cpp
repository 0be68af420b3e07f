// Dispatch and combine through the C interface, on an emulated cluster.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "comm/c_api/side.hpp"
#include "comm/cases/on_cluster.hpp"
#include "testbed/emulated_cluster.hpp"

namespace c_api {
namespace {

/// Brings back `rows` as they are; the sums [T, H], weights at `slot_weights` [T, K].
std::vector<float> combine(const Side& side, const Handle& handle, const railwave_rows& rows,
                           std::vector<float>* slot_weights) {
  std::vector<float> out(kTokens * kHidden, -1.0F);
  const std::vector<float> bias(kTokens * kHidden, 100.0F);
  slot_weights->assign(kTokens * kTopK, -1.0F);
  std::array<std::int64_t, 2> sent{-1, -1};
  auto report = sized<railwave_phase_report>();
  report.sent_bytes = sent.data();
  auto config = sized<railwave_combine_config>();
  config.handle = handle.get();
  config.x = rows.x;
  config.rows = rows.rows;
  config.hidden = kHidden;
  config.dtype = RAILWAVE_FP32;
  config.apply_weights = 1;
  config.return_weights = 1;
  config.out = out.data();
  config.bias1 = bias.data();
  config.topk_weights = rows.topk_weights;
  config.out_topk_weights = slot_weights->data();
  EXPECT_EQ(railwave_combine(side.group.get(), &config, &report), RAILWAVE_SUCCESS)
      << railwave_last_error()->sentence;
  EXPECT_GT(report.total_s, 0.0);
  EXPECT_EQ(report.sent_bytes, sent.data());
  EXPECT_GE(std::min(sent[0], sent[1]), 0);
  return out;
}

/// Every path, the caller's windows on native; combine with weights and a bias; the handle used
/// again.
void round_trips(cases::Rank& rank, const std::vector<std::string>&) {
  const Side side(rank.self.value);
  const std::array<railwave_node_pair, 2> pairs{{{0, 1}, {1, 0}}};
  const std::array<railwave_window, 2> windows{{{&pairs[0], 1}, {&pairs[1], 1}}};
  for (int path = RAILWAVE_PATH_DEFAULT; path <= RAILWAVE_PATH_JOINT; ++path) {
    railwave_dispatch_config config = side.input();
    config.path = path;
    config.layout = RAILWAVE_EXPERT_MAJOR;
    config.expert_alignment = 4;
    if (path == RAILWAVE_PATH_NATIVE) {
      config.windows = windows.data();
      config.window_count = 2;
    }
    Received received = side.dispatch(config);
    const Handle handle = handle_of(received);
    const railwave_rows rows = rows_of(received);
    expect_groups(side, rows);
    EXPECT_EQ(railwave_handle_rows(handle.get()), rows.rows);

    auto repeated = sized<railwave_dispatch_config>();
    repeated.x = side.x.data();
    repeated.tokens = kTokens;
    repeated.hidden = kHidden;
    repeated.dtype = RAILWAVE_FP32;
    repeated.handle = handle.get();
    const Received again = side.dispatch(repeated);
    expect_groups(side, rows_of(again));

    std::vector<float> weights;
    const auto sums = combine(side, handle_of(again), rows, &weights);
    for (int token = 0; token < kTokens; ++token) {
      const auto at = static_cast<std::size_t>(token * kHidden);
      EXPECT_EQ(sums[at], 100 + 0.75F * value_of(side.rank, token));
      EXPECT_EQ(sums[at + kHidden - 1], sums[at]);
    }
    EXPECT_EQ(weights, side.weights);
  }
}

/// Rows in the group's own memory; more of it than there is.
void shared_rows(cases::Rank& rank, const std::vector<std::string>&) {
  const Side side(rank.self.value);
  const auto bytes = static_cast<std::int64_t>(side.x.size() * sizeof(float));
  railwave_buffer* made = nullptr;
  ASSERT_EQ(railwave_buffer_allocate(side.group.get(), bytes, &made), RAILWAVE_SUCCESS)
      << railwave_last_error()->sentence;
  const Buffer buffer(made);
  std::copy(side.x.begin(), side.x.end(), static_cast<float*>(railwave_buffer_bytes(made)));
  auto config = side.input();
  config.x = railwave_buffer_bytes(made);
  config.layout = RAILWAVE_EXPERT_MAJOR;
  config.expert_alignment = 4;
  expect_groups(side, rows_of(side.dispatch(config)));
  railwave_buffer* more = nullptr;
  EXPECT_EQ(railwave_buffer_allocate(side.group.get(), 8192, &more), RAILWAVE_RESOURCE_EXHAUSTED);
  EXPECT_EQ(more, nullptr);
  EXPECT_GE(railwave_last_error()->need, 8192);
  EXPECT_LT(railwave_last_error()->have, 4096);
  EXPECT_EQ(railwave_last_error()->rank, side.rank);
}

/// fp8 rows with scales, into the caller's buffers.
void scaled_rows(cases::Rank& rank, const std::vector<std::string>&) {
  const Side side(rank.self.value);
  const auto mark = [](int source, int token) {
    return static_cast<std::uint8_t>(8 * source + token + 1);
  };
  std::vector<std::uint8_t> x;
  std::vector<float> scales;
  for (int token = 0; token < kTokens; ++token) {
    x.insert(x.end(), kHidden, mark(side.rank, token));
    for (int s = 0; s < kScales; ++s) {
      scales.push_back(value_of(side.rank, token) + 100.0F * static_cast<float>(s));
    }
  }
  std::vector<std::uint8_t> recv_x(kRanks * kTokens * kHidden);
  std::vector<float> recv_scales(kRanks * kTokens * kScales);
  railwave_dispatch_config config = side.input();
  config.x = x.data();
  config.scales = scales.data();
  config.dtype = RAILWAVE_FP8_E4M3;
  config.recv_x = recv_x.data();
  config.recv_x_bytes = static_cast<std::int64_t>(recv_x.size());
  config.recv_scales = recv_scales.data();
  config.recv_scales_count = static_cast<std::int64_t>(recv_scales.size());
  const Received received = side.dispatch(config);
  const railwave_rows rows = rows_of(received);
  EXPECT_EQ(rows.x, recv_x.data());
  EXPECT_EQ(rows.scales, recv_scales.data());
  EXPECT_EQ(rows.expert_offsets, nullptr);
  std::size_t row = 0;
  for (int source = 0; source < kRanks; ++source) {
    for (int token = 0; token < kTokens; ++token) {
      std::array<std::int64_t, kTopK> local{-1, -1};
      for (int slot = 0; slot < kTopK; ++slot) {
        const int expert = expert_of(source, token, slot);
        if (expert / 2 == side.rank) local.at(static_cast<std::size_t>(slot)) = expert % 2;
      }
      if (local[0] < 0 && local[1] < 0) continue;
      ASSERT_LT(row, static_cast<std::size_t>(rows.rows));
      EXPECT_EQ(recv_x[row * kHidden + kHidden - 1], mark(source, token));
      EXPECT_EQ(recv_scales[row * kScales + 1], value_of(source, token) + 100.0F);
      for (std::size_t slot = 0; slot < kTopK; ++slot) {
        EXPECT_EQ(rows.topk_idx[row * kTopK + slot], local.at(slot));
        EXPECT_EQ(rows.topk_weights[row * kTopK + slot],
                  local.at(slot) < 0 ? 0.0F : weight_of(static_cast<int>(slot)));
      }
      ++row;
    }
  }
  EXPECT_EQ(static_cast<std::int64_t>(row), rows.rows);
}

/// Rank 1 dispatches a wrong `config`: it gets InvalidArgument naming `field`, the others hear of
/// rank 1, and the group goes on.
void expect_rejected(const Side& side, const railwave_dispatch_config* config, const char* field) {
  const railwave_dispatch_config good = side.input();
  railwave_received* received = nullptr;
  const bool wrong = side.rank == 1;
  const auto result = railwave_dispatch(side.group.get(), wrong ? config : &good, &received);
  EXPECT_EQ(result, wrong ? RAILWAVE_INVALID_ARGUMENT : RAILWAVE_PEER_REJECTED)
      << field << ": " << railwave_last_error()->sentence;
  EXPECT_EQ(received, nullptr);
  if (wrong) {
    EXPECT_STREQ(railwave_last_error()->field, field);
  } else {
    EXPECT_EQ(railwave_last_error()->rank, 1) << field;
  }
  side.expect_works();
}

void wrong_dispatches(cases::Rank& rank, const std::vector<std::string>&) {
  const Side side(rank.self.value);
  expect_rejected(side, nullptr, "config");
  auto config = side.input();
  config.size = 3;
  expect_rejected(side, &config, "config");
  config = side.input();
  config.path = 9;
  expect_rejected(side, &config, "path");
  config = side.input();
  config.dtype = 260;  // 4 in a byte
  expect_rejected(side, &config, "dtype");
  config = side.input();
  config.window_count = 1;
  expect_rejected(side, &config, "windows");
  config = side.input();
  const railwave_window bad{nullptr, 2};
  config.windows = &bad;
  config.window_count = 1;
  expect_rejected(side, &config, "windows");
  config = side.input();
  config.expert_alignment = -1;
  expect_rejected(side, &config, "expert_alignment");
  config = side.input();
  config.topk_idx = nullptr;
  expect_rejected(side, &config, "topk_idx");
  config = side.input();
  config.x = nullptr;
  expect_rejected(side, &config, "x");
  config = side.input();
  config.recv_x = &config;
  config.recv_x_bytes = -1;
  expect_rejected(side, &config, "recv_x");
}

void wrong_combines(cases::Rank& rank, const std::vector<std::string>&) {
  Side side(rank.self.value);
  const Received received = side.dispatch(side.input());
  const Handle handle = handle_of(received);
  const railwave_rows rows = rows_of(received);
  std::vector<float> out(kTokens * kHidden);
  auto good = sized<railwave_combine_config>();
  good.handle = handle.get();
  good.x = rows.x;
  good.rows = rows.rows;
  good.hidden = kHidden;
  good.dtype = RAILWAVE_FP32;
  good.out = out.data();
  const auto expect = [&](const railwave_combine_config* config, railwave_result own,
                          const char* field) {
    const bool wrong = side.rank == 2;
    EXPECT_EQ(railwave_combine(side.group.get(), wrong ? config : &good, nullptr),
              wrong ? own : RAILWAVE_PEER_REJECTED)
        << field << ": " << railwave_last_error()->sentence;
    if (wrong) {
      EXPECT_STREQ(railwave_last_error()->field, field);
    }
  };
  expect(nullptr, RAILWAVE_INVALID_ARGUMENT, "config");
  auto config = good;
  config.handle = nullptr;
  expect(&config, RAILWAVE_INVALID_ARGUMENT, "handle");
  config = good;
  config.reserved = 1;
  expect(&config, RAILWAVE_INVALID_ARGUMENT, "reserved");
  config = good;
  config.dtype = RAILWAVE_FP8_E4M3;
  expect(&config, RAILWAVE_UNSUPPORTED, "dtype");
  config = good;
  config.out = nullptr;
  expect(&config, RAILWAVE_INVALID_ARGUMENT, "out");
  config = good;
  config.apply_weights = 1;  // rank-major
  expect(&config, RAILWAVE_INVALID_ARGUMENT, "apply_weights");
  EXPECT_EQ(railwave_combine(side.group.get(), &good, nullptr), RAILWAVE_SUCCESS)
      << railwave_last_error()->sentence;
  for (int token = 0; token < kTokens; ++token) {
    EXPECT_EQ(out[static_cast<std::size_t>(token * kHidden)], 2 * value_of(side.rank, token));
  }
}

/// A buffer that is too small is told with the rows needed, on every rank.
void small_buffer(cases::Rank& rank, const std::vector<std::string>&) {
  const Side side(rank.self.value);
  std::vector<float> one_row(kHidden);
  auto config = side.input();
  if (side.rank == 3) {
    config.recv_x = one_row.data();
    config.recv_x_bytes = kHidden * 4;
  }
  railwave_received* received = nullptr;
  EXPECT_EQ(railwave_dispatch(side.group.get(), &config, &received), RAILWAVE_CAPACITY_EXCEEDED);
  EXPECT_EQ(railwave_last_error()->rank, 3);
  EXPECT_EQ(railwave_last_error()->have, 1);
  const std::int64_t need = railwave_last_error()->need;
  const railwave_rows rows = rows_of(side.dispatch(side.input()));
  if (side.rank == 3) {
    EXPECT_EQ(need, rows.rows);
  }
}

/// A handle of a group that is gone fits no other one; what was received stays.
void stale_handle(cases::Rank& rank, const std::vector<std::string>&) {
  Side side(rank.self.value);
  const Received received = side.dispatch(side.input());
  const Handle handle = handle_of(received);
  side.group.reset();
  const railwave_rows rows = rows_of(received);
  EXPECT_GT(static_cast<const float*>(rows.x)[0], 0.0F);
  EXPECT_EQ(railwave_handle_rows(handle.get()), rows.rows);
  side.group = side.make_group();
  auto config = side.input();
  config.topk_idx = nullptr;
  config.topk_weights = nullptr;
  config.handle = handle.get();
  railwave_received* none = nullptr;
  EXPECT_EQ(railwave_dispatch(side.group.get(), &config, &none), RAILWAVE_STALE_HANDLE);
  side.expect_works();
}

/// A rank with a wrong setting meets the others, who hear of it; then all make the group.
void wrong_settings(cases::Rank& rank, const std::vector<std::string>&) {
  Side side(rank.self.value);
  side.group.reset();
  auto config = side.settings();
  const bool wrong = side.rank == 2;
  if (wrong) config.widest_dtype = 9;
  railwave_group* group = nullptr;
  EXPECT_EQ(railwave_group_create(side.topology.get(), side.placement.get(), &config, &group),
            wrong ? RAILWAVE_INVALID_ARGUMENT : RAILWAVE_PEER_REJECTED)
      << railwave_last_error()->sentence;
  EXPECT_EQ(group, nullptr);
  if (wrong) {
    EXPECT_STREQ(railwave_last_error()->field, "widest_dtype");
  } else {
    EXPECT_EQ(railwave_last_error()->rank, 2);
  }
  side.group = side.make_group();
  side.expect_works();
}

const cases::RankBodies kBodies{
    {"round_trips", round_trips},       {"shared_rows", shared_rows},
    {"scaled_rows", scaled_rows},       {"wrong_dispatches", wrong_dispatches},
    {"wrong_combines", wrong_combines}, {"wrong_settings", wrong_settings},
    {"small_buffer", small_buffer},     {"stale_handle", stale_handle}};

TEST(CSteps, OnEveryRankOfACluster) {
  RAILWAVE_START_CLUSTER(cluster, railwave::testbed::uniform_cluster(2, 2, 2));
  for (const auto& [name, body] : kBodies) {
    SCOPED_TRACE(name);
    cases::run_on_cluster(cluster, {.body = name});
  }
}

}  // namespace
}  // namespace c_api

int main(int argc, char** argv) { return cases::run_tests_or_rank(argc, argv, c_api::kBodies); }
