// Topologies, placements and sizes: what C gives is what C++ gives.
#include <array>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include <railwave/communicator.hpp>

#include "comm/c_api/owned.hpp"

namespace c_api {
namespace {

using railwave::RankId;

/// 2 nodes of 1 and 3 ranks, 3 rails; the first has no rail 1.
constexpr std::array<std::int32_t, 2> kRanks{1, 3};
constexpr std::array<std::int32_t, 4> kHome{2, 2, 0, 0};
constexpr std::array<std::uint8_t, 6> kLive{1, 0, 7, 1, 1, 1};
constexpr std::array<std::int32_t, 12> kIngress{0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 0};
constexpr std::array<std::int64_t, 6> kWeights{10, 10, 5, 10, 10, 5};

railwave_topology_config general() {
  return {.size = sizeof(railwave_topology_config),
          .nodes = 2,
          .rails = 3,
          .ranks_per_node = kRanks.data(),
          .home_rail = kHome.data(),
          .live = kLive.data(),
          .ingress = kIngress.data(),
          .weights = kWeights.data()};
}

railwave::Topology general_of_cpp() {
  railwave::Topology::Options options;
  options.ranks_per_node = {1, 3};
  options.rails = 3;
  options.home_rail = {{2}, {2, 0, 0}};
  options.live = {{true, false, true}, {true, true, true}};
  options.ingress = {{{0, 0, 0}, {1, 2, 0}}, {{0, 0, 0}, {0, 0, 0}}};
  options.weights = {{10, 10, 5}, {10, 10, 5}};
  return *railwave::Topology::create(options);
}

TEST(CTopology, EveryRankReservesWhatItReservesInCpp) {
  const auto config = general();
  railwave_topology* made = nullptr;
  ASSERT_EQ(railwave_topology_create(&config, &made), RAILWAVE_SUCCESS)
      << railwave_last_error()->sentence;
  const Topology topology(made);
  const railwave::Topology expected = general_of_cpp();
  EXPECT_EQ(railwave_topology_ranks(topology.get()), 4);
  for (int rank = 0; rank < 4; ++rank) {
    auto group = sized<railwave_group_config>();
    group.rank = rank;
    group.max_tokens_per_rank = 100;
    group.max_recv_rows = 150;
    group.max_hidden = 96;
    railwave::CommunicatorOptions options;
    options.self = RankId(rank);
    options.max_tokens_per_rank = 100;
    options.max_recv_rows = 150;
    options.max_hidden = 96;
    railwave_workspace size{sizeof size, 0, 0};
    ASSERT_EQ(railwave_workspace_size(topology.get(), &group, &size), RAILWAVE_SUCCESS);
    const auto wanted = railwave::workspace_size(expected, options);
    EXPECT_EQ(size.segment, wanted->segment) << rank;
    EXPECT_EQ(size.send_slots, wanted->send_slots) << rank;
  }
}

TEST(CTopology, EveryArrayIsRead) {
  const auto expect_refused = [](const railwave_topology_config& config, railwave_result result,
                                 const char* field) {
    railwave_topology* topology = nullptr;
    EXPECT_EQ(railwave_topology_create(&config, &topology), result) << field;
    EXPECT_STREQ(railwave_last_error()->field, field);
    EXPECT_EQ(topology, nullptr);
  };
  const std::array<std::int32_t, 4> home{2, 2, 0, 3};
  const std::array<std::int32_t, 12> twice{0, 0, 0, 1, 2, 2, 0, 0, 0, 0, 0, 0};
  const std::array<std::int64_t, 6> weightless{1, 1, 1, 1, 1, 0};
  const std::array<std::int32_t, 2> empty_node{1, -3};
  auto config = general();
  config.home_rail = home.data();
  expect_refused(config, RAILWAVE_INVALID_ARGUMENT, "home_rail");
  config = general();
  config.ingress = twice.data();
  expect_refused(config, RAILWAVE_INVALID_ARGUMENT, "ingress");
  config = general();
  config.weights = weightless.data();
  expect_refused(config, RAILWAVE_INVALID_ARGUMENT, "weights");
  config = general();
  config.ranks_per_node = empty_node.data();
  expect_refused(config, RAILWAVE_INVALID_ARGUMENT, "ranks_per_node");
  config = general();
  config.nodes = -1;
  expect_refused(config, RAILWAVE_INVALID_ARGUMENT, "ranks_per_node");
  config = general();
  config.rails = 0;
  config.home_rail = nullptr;
  expect_refused(config, RAILWAVE_INVALID_ARGUMENT, "rails");
}

TEST(CTopology, NodesWithoutACommonRailAreLinkDown) {
  const std::array<std::uint8_t, 6> apart{1, 0, 0, 0, 1, 1};
  auto config = general();
  config.live = apart.data();
  config.ingress = nullptr;
  railwave_topology* topology = nullptr;
  EXPECT_EQ(railwave_topology_create(&config, &topology), RAILWAVE_LINK_DOWN);
}

TEST(CPlacement, OwnersDecideTheWorstCase) {
  const Topology topology = uniform(2, 1, 1);
  const std::array<std::int32_t, 5> owner{1, 1, 0, 1, 1};
  railwave_placement* made = nullptr;
  ASSERT_EQ(railwave_placement_from_owners(owner.data(), 5, 2, &made), RAILWAVE_SUCCESS);
  const Placement placement(made);
  railwave_worst_case worst{.size = sizeof worst,
                            .tokens_per_rank = 10,
                            .expert_alignment = 8,
                            .layout = RAILWAVE_EXPERT_MAJOR,
                            .top_k = 3};
  std::int64_t rows = 0;
  ASSERT_EQ(railwave_worst_case_recv_rows(topology.get(), placement.get(), &worst, &rows),
            RAILWAVE_SUCCESS);
  EXPECT_EQ(rows, 2 * 10 * 3 + 4 * 7);  // four experts of rank 1, each padded by up to 7
  worst.layout = RAILWAVE_RANK_MAJOR;
  ASSERT_EQ(railwave_worst_case_recv_rows(topology.get(), placement.get(), &worst, &rows),
            RAILWAVE_SUCCESS);
  EXPECT_EQ(rows, 2 * 10);
  worst.layout = 2;
  EXPECT_EQ(railwave_worst_case_recv_rows(topology.get(), placement.get(), &worst, &rows),
            RAILWAVE_INVALID_ARGUMENT);
  EXPECT_STREQ(railwave_last_error()->field, "layout");
  worst.layout = RAILWAVE_EXPERT_MAJOR;
  worst.expert_alignment = std::int64_t{1} << 31;
  EXPECT_EQ(railwave_worst_case_recv_rows(topology.get(), placement.get(), &worst, &rows),
            RAILWAVE_INVALID_ARGUMENT);
  EXPECT_STREQ(railwave_last_error()->field, "expert_alignment");
}

TEST(CPlacement, AnOwnerThatIsNoRankIsRefused) {
  const std::array<std::int32_t, 2> owner{0, 2};
  railwave_placement* placement = nullptr;
  EXPECT_EQ(railwave_placement_from_owners(owner.data(), 2, 2, &placement),
            RAILWAVE_INVALID_ARGUMENT);
  EXPECT_STREQ(railwave_last_error()->field, "owner");
  EXPECT_EQ(railwave_placement_from_owners(owner.data(), -1, 2, &placement),
            RAILWAVE_INVALID_ARGUMENT);
  EXPECT_EQ(placement, nullptr);
}

}  // namespace
}  // namespace c_api
