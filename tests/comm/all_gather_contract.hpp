// What every AllGather must do. A backend's test file instantiates it with a GatherMaker.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "comm/bootstrap.hpp"
#include "comm/rank_threads.hpp"

namespace railwave::comm {

using Gathers = std::vector<std::unique_ptr<AllGather>>;
using GatherMaker = std::function<Gathers(int ranks)>;

class AllGatherContract : public testing::TestWithParam<GatherMaker> {
 protected:
  static Gathers make(int ranks) { return GetParam()(ranks); }

  /// Every rank but the absent one gathers once; what each of them got.
  static std::vector<Result<std::vector<Bytes>>> gather_without(Gathers& gathers,
                                                                std::size_t absent,
                                                                milliseconds limit) {
    const int ranks = static_cast<int>(gathers.size());
    std::vector<Result<std::vector<Bytes>>> outcomes(gathers.size());
    in_threads(ranks, [&](std::size_t rank) {
      if (rank == absent) return;
      outcomes[rank] = gathers[rank]->all_gather(Bytes(10), Clock::now() + limit);
    });
    return outcomes;
  }
};

TEST_P(AllGatherContract, EveryRankGetsEveryPart) {
  rc::check([] {
    const auto ranks = *rc::gen::inRange(1, 6);
    using Round = std::vector<std::vector<std::uint8_t>>;
    const auto part = rc::gen::scale(3, rc::gen::arbitrary<std::vector<std::uint8_t>>());
    const auto rounds = *rc::gen::container<std::vector<Round>>(
        3, rc::gen::container<Round>(static_cast<std::size_t>(ranks), part));
    Gathers gathers = make(ranks);
    std::vector<int> wrong(gathers.size(), 0);
    in_threads(ranks, [&](std::size_t rank) {
      for (const Round& round : rounds) {
        const auto got = gathers[rank]->all_gather(std::as_bytes(std::span(round[rank])),
                                                   Clock::now() + seconds(10));
        wrong[rank] += !got || got->size() != round.size();
        for (std::size_t i = 0; got && i < got->size(); ++i) {
          const auto expected = std::as_bytes(std::span(round[i]));
          wrong[rank] +=
              !std::equal((*got)[i].begin(), (*got)[i].end(), expected.begin(), expected.end());
        }
      }
    });
    RC_ASSERT(wrong == std::vector<int>(gathers.size(), 0));
  });
}

TEST_P(AllGatherContract, PartsOfSeveralMebibytesPass) {
  constexpr int kRanks = 4;
  Gathers gathers = make(kRanks);
  std::array<int, kRanks> right{};
  in_threads(kRanks, [&](std::size_t rank) {
    const Bytes mine((rank + 1) << 20, static_cast<std::byte>(rank + 1));
    const auto got = gathers[rank]->all_gather(mine, Clock::now() + seconds(20));
    for (std::size_t i = 0; got && i < got->size(); ++i) {
      right[rank] += (*got)[i] == Bytes((i + 1) << 20, static_cast<std::byte>(i + 1));
    }
  });
  EXPECT_THAT(right, testing::Each(kRanks));
}

TEST_P(AllGatherContract, ALateRankIsNamedByAll) {
  Gathers gathers = make(4);
  ASSERT_EQ(gathers.size(), 4U);
  const auto start = Clock::now();
  const auto outcomes = gather_without(gathers, 2, milliseconds(300));
  EXPECT_GE(Clock::now() - start, milliseconds(300));
  EXPECT_LT(Clock::now() - start, seconds(3));
  for (const std::size_t rank : {0U, 1U, 3U}) {
    ASSERT_FALSE(outcomes[rank]) << rank;
    EXPECT_EQ(outcomes[rank].error().code, ErrorCode::Timeout);
    EXPECT_EQ(outcomes[rank].error().rank, 2);
    EXPECT_THAT(outcomes[rank].error().message, testing::HasSubstr("[2]"));
  }
}

TEST_P(AllGatherContract, ARankThatHasEndedIsNamedByAllAtOnce) {
  Gathers gathers = make(4);
  ASSERT_EQ(gathers.size(), 4U);
  gathers[3].reset();
  const auto start = Clock::now();
  const auto outcomes = gather_without(gathers, 3, seconds(20));
  EXPECT_LT(Clock::now() - start, seconds(5));
  for (const std::size_t rank : {0U, 1U, 2U}) {
    ASSERT_FALSE(outcomes[rank]) << rank;
    EXPECT_EQ(outcomes[rank].error().code, ErrorCode::PeerFailed);
    EXPECT_EQ(outcomes[rank].error().rank, 3);
  }
}

TEST_P(AllGatherContract, RankZeroMayEndToo) {
  Gathers gathers = make(3);
  ASSERT_EQ(gathers.size(), 3U);
  gathers[0].reset();
  const auto outcomes = gather_without(gathers, 0, seconds(20));
  for (const std::size_t rank : {1U, 2U}) {
    ASSERT_FALSE(outcomes[rank]) << rank;
    EXPECT_EQ(outcomes[rank].error().code, ErrorCode::PeerFailed);
    EXPECT_EQ(outcomes[rank].error().rank, 0);
  }
}

TEST_P(AllGatherContract, AfterAnErrorItIsOver) {
  Gathers gathers = make(2);
  ASSERT_EQ(gathers.size(), 2U);
  const auto first = gather_without(gathers, 1, milliseconds(50));
  ASSERT_FALSE(first[0]);
  const auto start = Clock::now();
  const auto again = gathers[0]->all_gather({}, Clock::now() + seconds(10));
  EXPECT_LT(Clock::now() - start, seconds(1));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, first[0].error().code);
  EXPECT_EQ(again.error().message, first[0].error().message);
}

TEST_P(AllGatherContract, RanksMayLeaveAfterTheirLastRound) {
  Gathers gathers = make(4);
  std::array<int, 4> right{};
  in_threads(4, [&](std::size_t rank) {
    for (int round = 0; round < 20; ++round) {
      right[rank] += gathers[rank]->all_gather(Bytes(rank), Clock::now() + seconds(10)).has_value();
    }
    gathers[rank].reset();
  });
  EXPECT_THAT(right, testing::Each(20));
}

}  // namespace railwave::comm
