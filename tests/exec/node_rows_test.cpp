// Rows of a node in one step: what a rank gives its neighbours, when they see it, whom it tells.
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "exec/loopback_ranks.hpp"
#include "exec/own_rows.hpp"

namespace {

using engines::Cluster;
using railwave::RankId;
using railwave::Topology;
using railwave::exec::NodeRows;

constexpr std::int64_t kRow = 16;
constexpr std::int64_t kRows = 4;

/// One node of three ranks; row i of rank p is filled with 10 p + i.
class NodeRowsOfThree : public testing::Test {
 protected:
  NodeRowsOfThree() : cluster_(*Topology::uniform(2, 3, 3), limits()) {
    for (int p = 0; p < 3; ++p) {
      for (std::int64_t i = 0; i < kRows; ++i) {
        own_[p].insert(own_[p].end(), kRow, std::byte(10 * p + i));
      }
    }
  }

  static railwave::exec::Limits limits() {
    railwave::exec::Limits limits = engines::small_limits();
    limits.shared_bytes = 4096;
    return limits;
  }
  /// The rank's memory for rows that neighbours read in place.
  std::byte* arena_of(int rank) {
    return cluster_.engine(rank).fabric().own().data() +
           cluster_.maps_of(rank)[static_cast<std::size_t>(rank)].arena;
  }

  NodeRows rows_of(int rank, std::uint64_t step) {
    return NodeRows({&cluster_.engine(rank),
                     cluster_.maps_of(rank),
                     step,
                     {kRow, 0},
                     kRows,
                     kRows,
                     own_[rank].data()});
  }

  Cluster cluster_;
  std::vector<std::byte> own_[3];
};

TEST_F(NodeRowsOfThree, OwnRowsAreReadWhereTheCallerHasThem) {
  NodeRows rows = rows_of(1, 1);
  EXPECT_TRUE(rows.here(1));
  EXPECT_EQ(rows.row(1, 2).elements, own_[1].data() + 2 * kRow);
  EXPECT_TRUE(rows.awaited().empty());
}

TEST_F(NodeRowsOfThree, ARowIsHereWhenItsRankHasPublished) {
  NodeRows giver = rows_of(0, 7);
  NodeRows reader = rows_of(2, 7);
  giver.copy_for(2, 3);
  EXPECT_FALSE(reader.here(0));
  EXPECT_EQ(reader.awaited(), std::vector<RankId>{RankId(0)});
  giver.publish();
  ASSERT_TRUE(reader.here(0));
  EXPECT_TRUE(reader.awaited().empty());
  EXPECT_EQ(std::memcmp(reader.row(0, 3).elements, own_[0].data() + 3 * kRow, kRow), 0);
}

TEST_F(NodeRowsOfThree, RowsOfAnotherStepAreNotTaken) {
  rows_of(0, 7).publish();
  EXPECT_FALSE(rows_of(2, 8).here(0));
  rows_of(0, 8).publish();
  EXPECT_TRUE(rows_of(2, 8).here(0));
}

TEST_F(NodeRowsOfThree, OnlyReadersAreTold) {
  NodeRows nobody = rows_of(0, 1);
  nobody.copy_for(0, 0);  // its own
  nobody.publish();
  EXPECT_EQ(cluster_.signals.load(), 0);
  NodeRows two = rows_of(0, 2);
  for (const int reader : {1, 2, 1}) two.copy_for(reader, 0);
  two.copy_for(1, 1);
  two.publish();
  EXPECT_EQ(cluster_.signals.load(), 2);
}

TEST_F(NodeRowsOfThree, AStepDoesNotTouchTheRowsOfTheOneBefore) {
  NodeRows before = rows_of(0, 4);
  before.copy_for(1, 0);
  before.publish();
  NodeRows reader = rows_of(1, 4);
  ASSERT_TRUE(reader.here(0));
  own_[0].assign(own_[0].size(), std::byte{99});
  NodeRows after = rows_of(0, 5);
  after.copy_for(1, 0);
  after.publish();
  EXPECT_EQ(*reader.row(0, 0).elements, std::byte{0});
}

TEST_F(NodeRowsOfThree, ScalesAndWeightsGoWithTheirRow) {
  // Two rows of 8 elements and 4 bytes of scales, in the caller's buffers the other way round.
  const std::vector<std::uint32_t> places{1, 0};
  const std::vector<float> scales{0.5F, 1.5F};
  const std::vector<float> weights{10, 11, 20, 21};
  NodeRows::Setup setup{&cluster_.engine(0), cluster_.maps_of(0), 3, {8, 4}, 2, 2, own_[0].data()};
  setup.scales = reinterpret_cast<const std::byte*>(scales.data());
  setup.weights = weights.data();
  setup.weights_per_row = 2;
  setup.places = places;
  NodeRows giver(setup);
  NodeRows::Setup other = setup;
  other.engine = &cluster_.engine(1);
  other.maps = cluster_.maps_of(1);
  NodeRows reader(other);
  for (const std::int64_t row : {0, 1}) giver.copy_for(1, row);
  giver.publish();
  ASSERT_TRUE(reader.here(0));
  for (const std::int64_t row : {0, 1}) {
    const auto lies = static_cast<std::size_t>(1 - row);
    EXPECT_EQ(giver.row(0, row).elements, own_[0].data() + 8 * lies);
    EXPECT_EQ(std::memcmp(reader.row(0, row).elements, own_[0].data() + 8 * lies, 8), 0);
    EXPECT_EQ(std::memcmp(reader.row(0, row).scales, &scales[lies], 4), 0);
    for (const std::size_t k : {0U, 1U}) {
      EXPECT_EQ(reader.weights(0, row)[k], weights[2 * lies + k]);
      EXPECT_EQ(giver.weights(0, row)[k], weights[2 * lies + k]);
    }
  }
}

TEST_F(NodeRowsOfThree, RowsInTheArenaAreReadWhereTheyLie) {
  const std::vector<std::uint32_t> places{2, 0, 1};
  std::memcpy(arena_of(0), own_[0].data(), kRows * kRow);
  NodeRows::Setup setup{&cluster_.engine(0), cluster_.maps_of(0), 3, {kRow, 0}, 3, kRows};
  setup.own = arena_of(0);
  setup.places = places;
  NodeRows giver(setup);
  giver.copy_for(1, 0);
  giver.copy_for(2, 1);
  giver.publish();
  EXPECT_FALSE(giver.released()) << "two ranks read its rows";
  NodeRows reader = rows_of(1, 3);
  ASSERT_TRUE(reader.here(0));
  arena_of(0)[2 * kRow] = std::byte{77};  // the same memory
  EXPECT_EQ(reader.row(0, 0).elements[0], std::byte{77});
  EXPECT_EQ(reader.row(0, 1).elements[0], std::byte{0});
  const int signals = cluster_.signals.load();
  EXPECT_TRUE(reader.finish_reading());
  EXPECT_EQ(cluster_.signals.load(), signals + 1) << "the giver waits for it";
  EXPECT_EQ(giver.readers_left(), std::vector<RankId>{RankId(2)});
  NodeRows other = rows_of(2, 3);
  EXPECT_TRUE(other.finish_reading());
  EXPECT_TRUE(giver.released());
  // Rows that only begin in the arena are copied.
  setup.own = arena_of(0) + 4096 - kRow;
  setup.places = {};
  setup.step = 4;
  NodeRows beyond(setup);
  beyond.copy_for(1, 0);
  beyond.publish();
  EXPECT_TRUE(beyond.released());
}

TEST_F(NodeRowsOfThree, RowsInPlaceAreRevokedWhileTheyAreRead) {
  NodeRows::Setup setup{&cluster_.engine(0), cluster_.maps_of(0), 3, {kRow, 0}, kRows, kRows};
  setup.own = arena_of(0);
  NodeRows giver(setup);
  giver.copy_for(1, 0);
  giver.copy_for(2, 0);
  giver.publish();
  NodeRows early = rows_of(1, 3);
  ASSERT_TRUE(early.here(0));
  EXPECT_TRUE(early.check_lent());
  EXPECT_TRUE(early.finish_reading());
  NodeRows late = rows_of(2, 3);
  ASSERT_TRUE(late.here(0));
  giver.revoke();
  for (const railwave::Status& status : {late.check_lent(), late.finish_reading()}) {
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, railwave::ErrorCode::PeerFailed);
    EXPECT_EQ(status.error().rank, 0);
    EXPECT_EQ(status.error().field, "rows");
  }
  EXPECT_EQ(giver.readers_left(), std::vector<RankId>{RankId(2)});
}

TEST_F(NodeRowsOfThree, RowsThatNobodyReadsAnyMoreAreNotRevoked) {
  for (const bool in_place : {true, false}) {
    NodeRows::Setup setup{&cluster_.engine(0), cluster_.maps_of(0), 3, {kRow, 0}, kRows, kRows};
    setup.own = in_place ? arena_of(0) : own_[0].data();
    NodeRows giver(setup);
    giver.copy_for(1, 0);
    giver.publish();
    NodeRows reader = rows_of(1, 3);
    ASSERT_TRUE(reader.here(0));
    if (in_place) {
      EXPECT_TRUE(reader.finish_reading());
    }
    giver.revoke();
    EXPECT_TRUE(reader.check_lent());
  }
}

}  // namespace
