// Permutation waves and the check of the caller's windows.
#include "plan/waves.hpp"

#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace railwave::plan {
namespace {

using ::testing::HasSubstr;

NodePair pair(int s, int d) { return {NodeId(s), NodeId(d)}; }

TEST(Waves, FourNodes) {
  const Windows expected{{pair(0, 1), pair(1, 2), pair(2, 3), pair(3, 0)},
                         {pair(0, 2), pair(1, 3), pair(2, 0), pair(3, 1)},
                         {pair(0, 3), pair(1, 0), pair(2, 1), pair(3, 2)}};
  EXPECT_EQ(permutation_waves(4), expected);
}

TEST(Waves, OneNodeHasNone) {
  EXPECT_TRUE(permutation_waves(1).empty());
  EXPECT_TRUE(single_window(1).empty());
}

RC_GTEST_PROP(WavesProperty, EveryPairInExactlyOneWaveAndEachWaveAMatching, ()) {
  const int nodes = *rc::gen::inRange(1, 40);
  std::set<NodePair> met;
  for (const Window& wave : permutation_waves(nodes)) {
    std::set<NodeId> senders;
    std::set<NodeId> receivers;
    for (const NodePair& p : wave) {
      RC_ASSERT(p.source != p.destination);
      RC_ASSERT(senders.insert(p.source).second);
      RC_ASSERT(receivers.insert(p.destination).second);
      RC_ASSERT(met.insert(p).second);
    }
    RC_ASSERT(static_cast<int>(wave.size()) == nodes);
  }
  RC_ASSERT(static_cast<int>(met.size()) == nodes * (nodes - 1));
}

TEST(Waves, SingleWindowHasEveryPairOnce) {
  const Windows windows = single_window(3);
  const Windows expected{{pair(0, 1), pair(0, 2), pair(1, 0), pair(1, 2), pair(2, 0), pair(2, 1)}};
  EXPECT_EQ(windows, expected);
}

TEST(Waves, ReversedKeepsTheOrder) {
  const Windows windows{{pair(0, 1), pair(2, 1)}, {pair(1, 0)}};
  const Windows expected{{pair(1, 0), pair(1, 2)}, {pair(0, 1)}};
  EXPECT_EQ(reversed(windows), expected);
  EXPECT_EQ(reversed(reversed(windows)), windows);
}

class CheckedWindows : public ::testing::Test {
 protected:
  CheckedWindows() { counts_.set(NodeId(0), RailId(1), NodeId(2), 5); }
  std::string rejected(const Windows& windows) {
    const auto checked = checked_windows(windows, counts_);
    if (checked) return "accepted";
    EXPECT_EQ(checked.error().code, ErrorCode::InvalidArgument);
    EXPECT_EQ(checked.error().field, "windows");
    return checked.error().message;
  }
  RailCounts counts_{3, 2};
};

TEST_F(CheckedWindows, NoneMeansEveryPairAtOnce) {
  EXPECT_EQ(checked_windows({}, counts_).value(), single_window(3));
}

TEST_F(CheckedWindows, PairsWithoutRecordsMayBeLeftOut) {
  const Windows windows{{}, {pair(0, 2)}};
  EXPECT_EQ(checked_windows(windows, counts_).value(), windows);
}

TEST_F(CheckedWindows, NodeOutOfRange) {
  EXPECT_THAT(rejected({{pair(0, 2), pair(0, 3)}}), HasSubstr("(0, 3)"));
  EXPECT_THAT(rejected({{pair(0, 2)}, {pair(-1, 0)}}), HasSubstr("window 1, pair (-1, 0)"));
}

TEST_F(CheckedWindows, PairWithItself) {
  EXPECT_THAT(rejected({{pair(1, 1), pair(0, 2)}}), HasSubstr("(1, 1)"));
}

TEST_F(CheckedWindows, PairTwice) {
  EXPECT_THAT(rejected({{pair(0, 2)}, {pair(0, 2)}}), HasSubstr("window 1, pair (0, 2)"));
  EXPECT_THAT(rejected({{pair(0, 2), pair(1, 0), pair(1, 0)}}), HasSubstr("twice"));
}

TEST_F(CheckedWindows, RecordsThatNoWindowCarries) {
  EXPECT_THAT(rejected({{pair(2, 0)}}), HasSubstr("pair (0, 2) has 5 records"));
}

}  // namespace
}  // namespace railwave::plan
