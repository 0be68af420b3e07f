// The header exchange of whole clusters: everyone gets everything, and hears who is late.
#include "exec/header_exchange.hpp"

#include <memory>
#include <mutex>

#include <gtest/gtest.h>

#include "exec/loopback_ranks.hpp"
#include "transport/shared_word.hpp"

namespace {

using engines::Cluster;
using engines::in_ms;
using railwave::ErrorCode;
using railwave::RailId;
using railwave::RankId;
using railwave::Result;
using railwave::Topology;
using railwave::exec::HeaderExchange;
using railwave::exec::StepHeader;
using railwave::transport::FrameHeader;
using railwave::transport::FrameKind;

/// A cluster with the exchange of every rank.
struct Exchanges {
  explicit Exchanges(Topology topology) : cluster(std::move(topology), engines::small_limits()) {
    for (int p = 0; p < cluster.topology.ranks(); ++p) {
      exchanges.push_back(std::make_unique<HeaderExchange>(cluster.engine(p), cluster.maps_of(p)));
      cluster.engine(p).set_control(exchanges.back().get());
    }
  }
  HeaderExchange& of(int rank) { return *exchanges[static_cast<std::size_t>(rank)]; }

  Cluster cluster;
  std::vector<std::unique_ptr<HeaderExchange>> exchanges;
};

StepHeader header_of(int rank, std::uint64_t step) {
  StepHeader header;
  header.step = step;
  header.tokens = static_cast<std::uint32_t>(rank * 1000) + static_cast<std::uint32_t>(step);
  return header;
}

std::vector<Topology> shapes() {
  Topology::Options odd;
  odd.ranks_per_node = {3, 1, 2};
  odd.rails = 2;
  odd.home_rail = {{1, 0, 1}, {0}, {1, 1}};
  return {*Topology::uniform(1, 1, 1), *Topology::uniform(1, 4, 2), *Topology::uniform(3, 1, 2),
          *Topology::uniform(2, 4, 2), *Topology::uniform(8, 4, 4), *Topology::create(odd)};
}

TEST(HeaderExchange, GivesEveryRankAllHeadersStepAfterStep) {
  for (const Topology& topology : shapes()) {
    Exchanges world(topology);
    constexpr std::uint64_t kSteps = 40;
    Cluster::run(world.cluster.all(), [&](int self) {
      for (std::uint64_t step = 1; step <= kSteps; ++step) {
        const auto headers = world.of(self).exchange(header_of(self, step), in_ms(20'000));
        ASSERT_TRUE(headers) << to_string(headers.error());
        ASSERT_EQ(headers->size(), static_cast<std::size_t>(topology.ranks()));
        for (int p = 0; p < topology.ranks(); ++p) {
          const StepHeader& header = (*headers)[static_cast<std::size_t>(p)];
          EXPECT_EQ(header.step, step);
          EXPECT_EQ(header.tokens, header_of(p, step).tokens);
        }
        world.cluster.engine(self).close_step(step);
      }
    });
    // Each step the last rank rings the carriers, and who completes the headers rings everyone. Two
    // that finish at once may both think that they are the last.
    int most = 0;
    for (int n = 0; n < topology.nodes(); ++n) {
      most += 2 * (topology.ranks_at(railwave::NodeId(n)) + topology.nodes() - 1);
    }
    EXPECT_LE(world.cluster.signals.load(), most * static_cast<int>(kSteps));
  }
}

/// Remembers the headers that come.
class Listener final : public railwave::exec::FrameHandler {
 public:
  std::span<std::byte> place(RailId, const FrameHeader& frame) override {
    payload_.resize(frame.bytes);
    return payload_;
  }
  void arrived(RailId, const FrameHeader& frame) override { frames.push_back(frame); }
  void sent(RailId, std::uint64_t) override {}
  std::vector<FrameHeader> frames;

 private:
  std::vector<std::byte> payload_;
};

constexpr railwave::NodeId kNode0{0};
constexpr railwave::NodeId kNode1{1};

/// Says that a rank's word has reached step 1.
void set_word(Cluster& cluster, int rank, std::int64_t offset) {
  std::byte* word = cluster.engine(rank).fabric().own().data() + offset;
  railwave::transport::publish(reinterpret_cast<std::uint64_t*>(word), 1);
}

TEST(HeaderExchange, NobodyLeavesWithHeadersThatItShouldCarry) {
  // Rank 1 carries node 0's headers. While it looks at its neighbour's words, node 0 becomes
  // complete, and with it all nodes: between one look and the next, wherever it looks first.
  for (int turn = 1; turn <= 4; ++turn) {
    Exchanges world(*Topology::uniform(2, 2, 2));
    Cluster& cluster = world.cluster;
    ASSERT_EQ(railwave::exec::header_route(cluster.topology, kNode0, kNode1).sender, RankId(1));
    Listener listener;
    cluster.engine(3).set_control(&listener);
    int looks = 0;
    cluster.on_look = [&] {
      if (++looks != turn) return;
      set_word(cluster, 0, cluster.maps_of(0)[0].header_word + 8);
      const int listener_rank =
          railwave::exec::header_route(cluster.topology, kNode1, kNode0).receiver.value;
      const auto& map = cluster.maps_of(0)[static_cast<std::size_t>(listener_rank)];
      set_word(cluster, listener_rank, map.remote_words + 8 * (2 * kNode1.value + 1));
      cluster.engine(0).fabric().signal(1);
    };
    ASSERT_TRUE(world.of(1).exchange(header_of(1, 1), in_ms(2000))) << "turn " << turn;
    cluster.on_look = nullptr;
    ASSERT_TRUE(cluster.engine(3).run(
        {[]() -> Result<bool> { return true; }, [] { return railwave::Error{}; }, in_ms(2000)}));
    ASSERT_EQ(listener.frames.size(), 1U) << "turn " << turn;
    EXPECT_EQ(listener.frames.front().flags, 0);
  }
}

/// All ranks but `late` exchange; their errors must name `late` alone.
void expect_named(const Topology& topology, const std::vector<int>& late) {
  SCOPED_TRACE(testing::Message() << "late: " << late.front());
  Exchanges world(topology);
  std::vector<int> present;
  for (const int rank : world.cluster.all()) {
    if (std::find(late.begin(), late.end(), rank) == late.end()) present.push_back(rank);
  }
  std::string names;
  for (const int rank : late) names += (names.empty() ? "[" : ", ") + std::to_string(rank);
  names += "]";
  Cluster::run(present, [&](int self) {
    const auto headers = world.of(self).exchange(header_of(self, 1), in_ms(1000));
    ASSERT_FALSE(headers) << "rank " << self;
    EXPECT_EQ(headers.error().code, ErrorCode::Timeout);
    EXPECT_EQ(headers.error().rank, late.front()) << "rank " << self;
    EXPECT_NE(headers.error().message.find(names), std::string::npos)
        << "rank " << self << ": " << headers.error().message;
  });
}

TEST(HeaderExchange, EveryRankNamesTheLateOne) {
  // One that carries, one that does not, a carrier and listener.
  const Topology topology = *Topology::uniform(2, 3, 2);
  for (const int late : {3, 4, 5}) expect_named(topology, {late});
}

TEST(HeaderExchange, EveryRankNamesAllWhoAreLate) {
  expect_named(*Topology::uniform(2, 3, 1), {1, 4, 5});
}

/// Rank 1 alone, with a hand that writes what rank 0 would send.
class HeaderFrames : public testing::Test {
 protected:
  HeaderFrames() : world_(*Topology::uniform(2, 1, 1)) {}
  FrameHeader frame(std::uint64_t step) const {
    FrameHeader out;
    out.kind = FrameKind::Header;
    out.step = step;
    out.destination = 1;
    return out;
  }
  /// A header of rank 0, in which `tokens` are `tokens`.
  std::vector<std::byte> payload(std::uint64_t step, std::uint32_t tokens) const {
    StepHeader header = header_of(0, step);
    header.tokens = tokens;
    std::vector<std::byte> out(railwave::exec::step_header_bytes(2, 2));
    railwave::exec::encode(header, 2, out);
    return out;
  }
  void send(const FrameHeader& header, const std::vector<std::byte>& payload) {
    ASSERT_TRUE(world_.cluster.engine(0).send(RailId(0), header, payload, 0));
  }
  Result<std::vector<StepHeader>> exchange(std::uint64_t step, int milliseconds = 5000) {
    return world_.of(1).exchange(header_of(1, step), in_ms(milliseconds));
  }
  Exchanges world_;
};

TEST_F(HeaderFrames, WithoutPayloadAreNoHeaders) {
  send(frame(1), {});
  const auto headers = exchange(1, 50);
  ASSERT_FALSE(headers);
  EXPECT_EQ(headers.error().rank, 0);
}

TEST_F(HeaderFrames, OfAnotherSizeAreRefused) {
  send(frame(1), std::vector<std::byte>(8));
  EXPECT_FALSE(exchange(1, 50));
  EXPECT_EQ(world_.cluster.engine(1).rail(RailId(0)).refused(), 1U);
}

TEST_F(HeaderFrames, ThatComeAgainLaterChangeNothing) {
  send(frame(1), payload(1, 11));
  ASSERT_TRUE(exchange(1));
  world_.cluster.engine(1).close_step(1);
  send(frame(2), payload(2, 12));
  ASSERT_TRUE(exchange(2));
  world_.cluster.engine(1).close_step(2);
  send(frame(3), payload(3, 13));
  send(frame(1), payload(1, 99));  // lies where step 3's does
  send(frame(3), payload(3, 98));
  const auto headers = exchange(3);
  ASSERT_TRUE(headers);
  EXPECT_EQ(headers->front().tokens, 13U);
  EXPECT_EQ(headers->front().step, 3U);
}

TEST_F(HeaderFrames, OfFarStepsAreRefused) {
  for (const std::uint64_t step : {3, 101}) send(frame(step), payload(step, 99));
  send(frame(1), payload(1, 11));  // lies where theirs would
  const auto headers = exchange(1);
  ASSERT_TRUE(headers) << to_string(headers.error());
  EXPECT_EQ(headers->front().tokens, 11U);
}

TEST_F(HeaderFrames, OfTheNextStepMayComeEarly) {
  send(frame(1), payload(1, 11));
  send(frame(2), payload(2, 12));
  ASSERT_TRUE(exchange(1));
  const auto headers = exchange(2);
  ASSERT_TRUE(headers);
  EXPECT_EQ(headers->front().tokens, 12U);
}

TEST(Greet, ProvesEveryEndpoint) {
  const Topology topology = *Topology::uniform(2, 2, 2);
  Exchanges world(topology);
  const auto peers_of = [&](int self) {
    // Rank g drives rail g on both nodes.
    std::vector<std::vector<RankId>> peers(2);
    peers[static_cast<std::size_t>(self % 2)].push_back(RankId((self + 2) % 4));
    return peers;
  };
  Cluster::run({0, 1, 2}, [&](int self) {
    const auto status = world.of(self).greet(peers_of(self), in_ms(self == 1 ? 200 : 5000));
    if (self == 1) {
      ASSERT_FALSE(status);
      EXPECT_EQ(status.error().rank, 3);
    } else {
      EXPECT_TRUE(status);
    }
  });
}

}  // namespace
