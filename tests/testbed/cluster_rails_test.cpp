// Rails: rates, buffers, plugging, counters, the gate, faults.
#include <csignal>
#include <thread>

#include <fcntl.h>
#include <gmock/gmock.h>

#include "testbed/emulated_cluster.hpp"
#include "testbed/transfer.hpp"

namespace railwave::testbed {
namespace {

constexpr std::int64_t kBytes = 512 * 1024;

/// What a transfer took over what its bytes, less the burst, need at `rate`.
double over_least_time(const Transferred& done, const ClusterSpec& spec, std::int64_t rate) {
  return done.seconds * static_cast<double>(rate) / 8 / static_cast<double>(kBytes - spec.burst);
}

TEST(ClusterRails, ATransferTakesItsBytesOverTheRate) {
  const auto spec = uniform_cluster(2, 1, 2);
  RAILWAVE_START_CLUSTER(cluster, spec);
  const auto done = transfer(cluster, {{0}, 1, 1, kBytes});
  ASSERT_TRUE(done.has_value()) << to_string(done.error());
  ASSERT_EQ(done->outcome.exit_status, 0) << done->outcome.message;
  EXPECT_GE(over_least_time(*done, spec, spec.rate), 0.95);
  EXPECT_LE(over_least_time(*done, spec, spec.rate), 1.5);
  const auto& rails = done->outcome.traffic.rails;
  EXPECT_GE(rails[0][1].tx_bytes, kBytes);
  EXPECT_LE(rails[0][1].tx_bytes, kBytes + kBytes / 20);
  EXPECT_EQ(rails[1][1].rx_bytes, rails[0][1].tx_bytes);
  EXPECT_LT(rails[0][0].tx_bytes, 1000);
  EXPECT_LT(rails[1][0].rx_bytes, 1000);
}

TEST(ClusterRails, EachRailHasItsOwnRate) {
  auto spec = uniform_cluster(2, 1, 2);
  spec.rail_rate = {{50'000'000, 20'000'000}, {50'000'000, 50'000'000}};
  RAILWAVE_START_CLUSTER(cluster, spec);
  for (const auto& [rail, rate] : {std::pair{0, 50'000'000}, std::pair{1, 20'000'000}}) {
    const auto done = transfer(cluster, {{0}, 1, rail, kBytes});
    ASSERT_TRUE(done.has_value());
    EXPECT_GE(over_least_time(*done, spec, rate), 0.95) << rail;
    EXPECT_LE(over_least_time(*done, spec, rate), 1.5) << rail;
  }
}

TEST(ClusterRails, SeveralSendersOverflowTheSwitchPort) {
  RAILWAVE_START_CLUSTER(cluster, uniform_cluster(4, 1, 1));
  const auto done = transfer(cluster, {{1, 2, 3}, 0, 0, kBytes});
  ASSERT_TRUE(done.has_value());
  ASSERT_EQ(done->outcome.exit_status, 0) << done->outcome.message;
  const auto& traffic = done->outcome.traffic;
  EXPECT_GT(traffic.rails[0][0].port_drops, 0);
  EXPECT_EQ(traffic.rails[1][0].port_drops, 0);
  EXPECT_GT(traffic.tcp_retransmissions[1] + traffic.tcp_retransmissions[2] +
                traffic.tcp_retransmissions[3],
            0);
  EXPECT_EQ(traffic.tcp_retransmissions[0], 0);
}

TEST(ClusterRails, OneSenderLosesNothing) {
  RAILWAVE_START_CLUSTER(cluster, uniform_cluster(2, 1, 1));
  const auto done = transfer(cluster, {{1}, 0, 0, kBytes});
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->outcome.traffic.rails[0][0].port_drops, 0);
  EXPECT_EQ(done->outcome.traffic.rails[1][0].nic_drops, 0);
  EXPECT_EQ(done->outcome.traffic.tcp_retransmissions, (std::vector<std::int64_t>{0, 0}));
}

// A kernel keeps its 200 ms unless the route locks the value; then every incast looks worse than on
// a network of machines that are set up for it.
TEST(ClusterRails, ALostFrameIsSentAgainAfterTheTimeAskedFor) {
  for (const int least : {5, 300}) {
    auto spec = uniform_cluster(2, 1, 1);
    spec.rto_min = std::chrono::milliseconds(least);
    RAILWAVE_START_CLUSTER(cluster, spec);
    const auto done = transfer(cluster, {{1}, 0, 0, kBytes / 4});
    ASSERT_TRUE(done) << to_string(done.error());
    EXPECT_GE(done->retransmission_ms, least);
    EXPECT_LT(done->retransmission_ms, least + 100);
  }
}

// The kernel rounds a burst down to its ticks; a full frame must still fit at every MTU.
TEST(ClusterRails, TheLeastBurstLetsFullFramesPass) {
  for (const int mtu : {1500, 4000, 9000}) {
    auto spec = uniform_cluster(2, 1, 1);
    spec.mtu = mtu;
    spec.burst = least_burst(mtu);
    RAILWAVE_START_CLUSTER(cluster, spec);
    const auto done = transfer(cluster, {{0}, 1, 0, kBytes});
    ASSERT_TRUE(done.has_value());
    EXPECT_EQ(done->outcome.exit_status, 0) << mtu << ": " << done->outcome.message;
  }
}

TEST(ClusterRails, BridgesDecideWhichRailsMeet) {
  auto spec = uniform_cluster(2, 1, 3);
  spec.bridges = {{0, 1, 2}, {1, 2, 0}};
  const auto options = topology_options(spec);
  RAILWAVE_START_CLUSTER(cluster, spec);
  for (int egress = 0; egress < 3; ++egress) {
    const auto ingress = options.ingress[0][1][static_cast<std::size_t>(egress)];
    const auto there = transfer(cluster, {{0}, 1, ingress, kBytes / 4});
    ASSERT_TRUE(there.has_value());
    ASSERT_EQ(there->outcome.exit_status, 0);
    const auto& rails = there->outcome.traffic.rails;
    EXPECT_GE(rails[0][RailId(egress).index()].tx_bytes, kBytes / 4);
    EXPECT_GE(rails[1][RailId(ingress).index()].rx_bytes, kBytes / 4);
    const auto back = transfer(cluster, {{1}, 0, egress, kBytes / 4});
    ASSERT_TRUE(back.has_value());
    EXPECT_GE(back->outcome.traffic.rails[1][RailId(ingress).index()].tx_bytes, kBytes / 4);
  }
}

TEST(ClusterRails, TheGatePassesAndNamesEveryFlow) {
  auto spec = uniform_cluster(3, 1, 2);
  spec.live = {{true, true}, {true, false}, {true, true}};
  RAILWAVE_START_CLUSTER(cluster, spec);
  const auto gate = cluster.gate();
  ASSERT_TRUE(gate.has_value()) << to_string(gate.error());
  EXPECT_EQ(gate->flows.size(), 3U + 2U);
  EXPECT_TRUE(gate->shaping_works) << gate->sentence();
  EXPECT_GE(gate->lone_time, kLeastLoneTime);
  for (const auto& flow : gate->flows) {
    EXPECT_TRUE(spec.has_rail(flow.source, flow.egress));
    EXPECT_GE(flow.share, gate->lowest_share);
    EXPECT_GT(flow.share, 0.5);  // a shared machine may be slow, but not that slow
    EXPECT_LE(flow.share, 1.02);
  }
}

TEST(ClusterRails, TheGateNeedsTwoNodes) {
  RAILWAVE_START_CLUSTER(cluster, uniform_cluster(1, 1, 1));
  EXPECT_EQ(cluster.gate().error().code, ErrorCode::InvalidArgument);
}

TEST(ClusterRails, ARateChangesWhileTheClusterRuns) {
  const auto spec = uniform_cluster(2, 1, 1);
  RAILWAVE_START_CLUSTER(cluster, spec);
  ASSERT_TRUE(cluster.set_rail_rate(NodeId(1), RailId(0), 20'000'000).has_value());
  const auto slow = transfer(cluster, {{0}, 1, 0, kBytes});
  ASSERT_TRUE(slow.has_value());
  EXPECT_GE(over_least_time(*slow, spec, 20'000'000), 0.95);
  EXPECT_EQ(cluster.set_rail_rate(NodeId(1), RailId(0), 5).error().code,
            ErrorCode::InvalidArgument);
  EXPECT_EQ(cluster.set_rail_rate(NodeId(1), RailId(1), 20'000'000).error().code,
            ErrorCode::InvalidArgument);
}

TEST(ClusterRails, AnUnpluggedRailLosesCarrierAndOthersDoNot) {
  RAILWAVE_START_CLUSTER(cluster, uniform_cluster(2, 1, 2));
  const auto carriers = [&] {
    const CapturedOutput output;
    EXPECT_TRUE(cluster
                    .run(shell("echo $RANK $(cat /sys/class/net/rail0/carrier "
                               "/sys/class/net/rail1/carrier)",
                               output))
                    .has_value());
    return output.lines();
  };
  using testing::ElementsAre;
  ASSERT_TRUE(cluster.set_rail_up(NodeId(0), RailId(1), false).has_value());
  EXPECT_THAT(carriers(), ElementsAre("0 1 0", "1 1 1"));
  ASSERT_TRUE(cluster.set_rail_up(NodeId(0), RailId(1), true).has_value());
  EXPECT_THAT(carriers(), ElementsAre("0 1 1", "1 1 1"));
  const auto done = transfer(cluster, {{0}, 1, 1, kBytes / 4});
  ASSERT_TRUE(done.has_value());
  EXPECT_EQ(done->outcome.exit_status, 0) << done->outcome.message;
}

TEST(ClusterRails, ACutRailLosesFramesInOneDirectionUntilItIsHealed) {
  RAILWAVE_START_CLUSTER(cluster, uniform_cluster(2, 1, 1));
  const Transfer short_try{{0}, 1, 0, 1000, std::chrono::milliseconds(500)};
  for (const auto direction : {Direction::egress, Direction::ingress}) {
    ASSERT_TRUE(cluster.set_rail_cut(NodeId(0), RailId(0), direction, true).has_value());
    const auto cut = transfer(cluster, short_try);
    ASSERT_TRUE(cut.has_value());
    EXPECT_TRUE(cut->outcome.timed_out);
    const auto& rails = cut->outcome.traffic.rails;
    const bool egress = direction == Direction::egress;
    EXPECT_EQ(rails[0][0].nic_drops > 0, egress);
    EXPECT_EQ(rails[1][0].rx_bytes == 0, egress);
    EXPECT_EQ(rails[0][0].port_drops > 0, !egress);
    EXPECT_EQ(rails[0][0].rx_bytes, 0);
    ASSERT_TRUE(cluster.set_rail_cut(NodeId(0), RailId(0), direction, false).has_value());
    const auto healed = transfer(cluster, {{0}, 1, 0, kBytes / 4});
    ASSERT_TRUE(healed.has_value());
    EXPECT_EQ(healed->outcome.exit_status, 0) << healed->outcome.message;
  }
}

TEST(ClusterRails, AKilledNodeLosesItsRanksAndEveryInterfaceUntilItIsPlugged) {
  RAILWAVE_START_CLUSTER(cluster, uniform_cluster(2, 2, 1));
  const ScratchDirectory directory;
  const CapturedOutput output;
  const auto fifo = directory.file("up");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  std::thread killer([&] {
    const UniqueFd up(::open(fifo.c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_TRUE(cluster.kill_node(NodeId(1)).has_value());
  });
  const auto outcome =
      cluster.run(shell("[ $RANK = 2 ] && echo up > " + fifo + "; sleep 30", output));
  killer.join();
  ASSERT_TRUE(outcome.has_value());
  EXPECT_GE(outcome->failed_rank, RankId(2));
  EXPECT_EQ(outcome->exit_status, 128 + SIGKILL);
  const auto carriers = [&] {
    const CapturedOutput seen;
    EXPECT_TRUE(cluster
                    .run(shell("[ $LOCAL_RANK = 1 ] || echo $RANK $(cat "
                               "/sys/class/net/ctl0/carrier /sys/class/net/rail0/carrier)",
                               seen))
                    .has_value());
    return seen.lines();
  };
  using testing::ElementsAre;
  EXPECT_THAT(carriers(), ElementsAre("0 1 1", "2 0 0"));
  ASSERT_TRUE(cluster.plug_node(NodeId(1)).has_value());
  EXPECT_THAT(carriers(), ElementsAre("0 1 1", "2 1 1"));
  EXPECT_EQ(cluster.kill_node(NodeId(2)).error().code, ErrorCode::InvalidArgument);
}

TEST(ClusterRails, AnUnknownCongestionControlIsNamed) {
  auto spec = uniform_cluster(1, 1, 1);
  RAILWAVE_START_CLUSTER(cluster, spec);
  EXPECT_EQ(cluster.spec(), spec);
  spec.congestion = "nonesuch";
  const auto refused = Cluster::start(spec);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(refused.error().field, "congestion");
}

}  // namespace
}  // namespace railwave::testbed
