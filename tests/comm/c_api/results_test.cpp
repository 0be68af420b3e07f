// Results, the last error of each thread, NULL.
#include <array>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include <railwave/error.hpp>

#include "comm/c_api/owned.hpp"

namespace c_api {
namespace {

using railwave::ErrorCode;

TEST(CResults, MirrorTheCodes) {
  const std::array<std::pair<railwave_result, ErrorCode>, 14> pairs{
      {{RAILWAVE_INVALID_ARGUMENT, ErrorCode::InvalidArgument},
       {RAILWAVE_UNSUPPORTED, ErrorCode::Unsupported},
       {RAILWAVE_MISMATCH, ErrorCode::Mismatch},
       {RAILWAVE_PEER_REJECTED, ErrorCode::PeerRejected},
       {RAILWAVE_CAPACITY_EXCEEDED, ErrorCode::CapacityExceeded},
       {RAILWAVE_TIMEOUT, ErrorCode::Timeout},
       {RAILWAVE_PEER_FAILED, ErrorCode::PeerFailed},
       {RAILWAVE_LINK_DOWN, ErrorCode::LinkDown},
       {RAILWAVE_INTEGRITY_ERROR, ErrorCode::IntegrityError},
       {RAILWAVE_RESOURCE_EXHAUSTED, ErrorCode::ResourceExhausted},
       {RAILWAVE_STALE_HANDLE, ErrorCode::StaleHandle},
       {RAILWAVE_PROTOCOL_VIOLATION, ErrorCode::ProtocolViolation},
       {RAILWAVE_CANCELLED, ErrorCode::Cancelled},
       {RAILWAVE_INTERNAL, ErrorCode::Internal}}};
  for (const auto& [result, code] : pairs) {
    EXPECT_EQ(static_cast<int>(result), static_cast<int>(code));
    EXPECT_EQ(railwave_result_name(result), to_string(code));
    EXPECT_EQ(railwave_ends_group(result) != 0, ends_group(code)) << to_string(code);
  }
  EXPECT_STREQ(railwave_result_name(RAILWAVE_SUCCESS), "Success");
  EXPECT_STREQ(railwave_result_name(static_cast<railwave_result>(15)), "UnknownErrorCode");
  EXPECT_EQ(railwave_ends_group(RAILWAVE_SUCCESS), 0);
  EXPECT_EQ(railwave_ends_group(static_cast<railwave_result>(15)), 0);
}

TEST(CResults, TheVersionIsTheHeaders) {
  EXPECT_EQ(railwave_version_number(), RAILWAVE_VERSION_NUMBER);
  const std::string text = std::to_string(RAILWAVE_VERSION_MAJOR) + "." +
                           std::to_string(RAILWAVE_VERSION_MINOR) + "." +
                           std::to_string(RAILWAVE_VERSION_PATCH);
  EXPECT_EQ(railwave_version(), text);
}

TEST(CResults, TheLastErrorSaysAllOfIt) {
  railwave_topology* topology = nullptr;
  EXPECT_EQ(railwave_topology_uniform(2, 0, 1, &topology), RAILWAVE_INVALID_ARGUMENT);
  EXPECT_EQ(topology, nullptr);
  const railwave_error* error = railwave_last_error();
  EXPECT_EQ(error->size, sizeof(*error));
  EXPECT_EQ(error->code, RAILWAVE_INVALID_ARGUMENT);
  EXPECT_EQ(error->rank, -1);
  EXPECT_STREQ(error->field, "ranks_per_node");
  EXPECT_STREQ(error->message, "node 0 has 0 ranks; it needs 1");
  EXPECT_STREQ(error->sentence, "InvalidArgument{ranks_per_node}: node 0 has 0 ranks; it needs 1");
  EXPECT_EQ(error->need, -1);
  EXPECT_EQ(error->have, -1);
  const Topology good = uniform(1, 1, 1);
  EXPECT_STREQ(railwave_last_error()->field, "ranks_per_node") << "a success changed it";
}

TEST(CResults, EveryThreadHasItsOwnLastError) {
  ASSERT_EQ(railwave_placement_contiguous(0, 1, nullptr), RAILWAVE_INVALID_ARGUMENT);
  ASSERT_STREQ(railwave_last_error()->field, "out");
  std::thread([] {
    EXPECT_EQ(railwave_last_error()->code, RAILWAVE_SUCCESS);
    EXPECT_STREQ(railwave_last_error()->sentence, "");
    railwave_placement* placement = nullptr;
    EXPECT_EQ(railwave_placement_contiguous(0, 1, &placement), RAILWAVE_INVALID_ARGUMENT);
    EXPECT_STREQ(railwave_last_error()->field, "num_experts");
  }).join();
  EXPECT_STREQ(railwave_last_error()->field, "out");
}

/// The call refused a NULL in this argument.
void expect_null_refused(railwave_result result, const char* field) {
  EXPECT_EQ(result, RAILWAVE_INVALID_ARGUMENT) << field;
  EXPECT_STREQ(railwave_last_error()->field, field);
  EXPECT_STREQ(railwave_last_error()->message, "it is NULL") << field;
}

TEST(CResults, NullIsRefusedByName) {
  const Topology topology = uniform(1, 1, 1);
  const Placement placement = contiguous(1, 1);
  const auto config = sized<railwave_group_config>();
  const auto worst = sized<railwave_worst_case>();
  auto no_ranks = sized<railwave_topology_config>();
  no_ranks.nodes = no_ranks.rails = 1;
  std::int64_t rows = 0;
  railwave_topology* made = nullptr;
  railwave_placement* placed = nullptr;
  railwave_group* group = nullptr;
  railwave_handle* handle = nullptr;
  expect_null_refused(railwave_topology_uniform(1, 1, 1, nullptr), "out");
  expect_null_refused(railwave_topology_create(nullptr, &made), "config");
  expect_null_refused(railwave_topology_create(&no_ranks, &made), "ranks_per_node");
  expect_null_refused(railwave_placement_from_owners(nullptr, 1, 1, &placed), "owner");
  expect_null_refused(railwave_worst_case_recv_rows(nullptr, placement.get(), &worst, &rows),
                      "topology");
  expect_null_refused(railwave_worst_case_recv_rows(topology.get(), nullptr, &worst, &rows),
                      "placement");
  expect_null_refused(
      railwave_worst_case_recv_rows(topology.get(), placement.get(), nullptr, &rows), "worst");
  expect_null_refused(
      railwave_worst_case_recv_rows(topology.get(), placement.get(), &worst, nullptr), "rows");
  expect_null_refused(railwave_workspace_size(nullptr, &config, nullptr), "topology");
  expect_null_refused(railwave_workspace_size(topology.get(), nullptr, nullptr), "config");
  expect_null_refused(railwave_group_create(nullptr, placement.get(), &config, &group), "topology");
  expect_null_refused(railwave_group_create(topology.get(), nullptr, &config, &group), "placement");
  expect_null_refused(railwave_group_create(topology.get(), placement.get(), nullptr, &group),
                      "config");
  expect_null_refused(railwave_group_create(topology.get(), placement.get(), &config, nullptr),
                      "out");
  expect_null_refused(railwave_dispatch(nullptr, nullptr, nullptr), "group");
  expect_null_refused(railwave_combine(nullptr, nullptr, nullptr), "group");
  railwave_buffer* buffer = nullptr;
  expect_null_refused(railwave_buffer_allocate(nullptr, 1, &buffer), "group");
  expect_null_refused(railwave_buffer_allocate(nullptr, 1, nullptr), "out");
  EXPECT_EQ(railwave_buffer_bytes(nullptr), nullptr);
  expect_null_refused(railwave_received_rows(nullptr, nullptr), "received");
  expect_null_refused(railwave_received_report(nullptr, nullptr), "received");
  expect_null_refused(railwave_received_handle(nullptr, &handle), "received");
  EXPECT_EQ(railwave_topology_ranks(nullptr), 0);
  EXPECT_EQ(railwave_handle_rows(nullptr), 0);
}

TEST(CResults, NullMayBeDestroyed) {
  railwave_topology_destroy(nullptr);
  railwave_placement_destroy(nullptr);
  railwave_group_destroy(nullptr);
  railwave_buffer_destroy(nullptr);
  railwave_received_destroy(nullptr);
  railwave_handle_destroy(nullptr);
}

TEST(CResults, AFailureLeavesNullBehind) {
  const Topology owned = uniform(1, 1, 1);
  railwave_topology* topology = owned.get();
  EXPECT_EQ(railwave_topology_uniform(0, 1, 1, &topology), RAILWAVE_INVALID_ARGUMENT);
  EXPECT_EQ(topology, nullptr);
}

}  // namespace
}  // namespace c_api
