#include "transport/rail_contract.hpp"

#include <algorithm>
#include <ctime>
#include <future>
#include <random>

namespace railwave::transport::test {
namespace {

using namespace std::chrono_literals;

constexpr RankId kFirst{0};
constexpr RankId kSecond{1};

RankId source_of(const FrameHeader& frame) {
  return RankId(static_cast<std::int32_t>(frame.source));
}

double thread_cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

TEST_P(RailContract, PingPong) {
  run_ranks(*backend, 2, [](Rank& rank) {
    const RankId peer(1 - rank.self.value);
    for (std::uint64_t round = 0; round < 50; ++round) {
      if (rank.self == kSecond && !rank.until_arrived(round + 1)) return;
      EXPECT_TRUE(rank.send(rank.frame(peer, round, 1000 + round)));
      if (rank.self == kFirst && !rank.until_arrived(round + 1)) return;
    }
    rank.until_sent();
  });
}

TEST_P(RailContract, EveryKindKeepsItsHeader) {
  run_ranks(*backend, 2, [](Rank& rank) {
    const auto kinds = {FrameKind::Hello,   FrameKind::Header,   FrameKind::Begin,
                        FrameKind::Records, FrameKind::Received, FrameKind::Grant};
    std::vector<FrameHeader> frames;
    for (const FrameKind kind : kinds) {
      FrameHeader frame = rank.frame(kSecond, frames.size(), kind == FrameKind::Records ? 77 : 0);
      frame.source = 0;
      frame.kind = kind;
      frame.flags = 0x81;
      frame.job = 0xfedcba9876543210;
      frame.window = 0xffffffff;
      frame.rail = 65535;
      frame.first_record = 123456789;
      frame.records = 31;
      frames.push_back(frame);
    }
    if (rank.self == kFirst) {
      for (const FrameHeader& frame : frames) EXPECT_TRUE(rank.send(frame));
      rank.until_sent();
    } else if (rank.until_arrived(frames.size())) {
      std::sort(rank.frames.begin(), rank.frames.end(),
                [](const auto& a, const auto& b) { return a.step < b.step; });
      EXPECT_TRUE(rank.frames == frames);
    }
  });
}

TEST_P(RailContract, EveryPayloadSize) {
  const std::vector<std::uint64_t> sizes{0,     1,     2,     63,    64,     65,     1000,
                                         4095,  8127,  8191,  8192,  8193,   65407,  65471,
                                         65472, 65535, 65536, 65537, 131071, 524289, 1U << 20};
  run_ranks(*backend, 2, [&](Rank& rank) {
    const RankId peer(1 - rank.self.value);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      EXPECT_TRUE(rank.send(rank.frame(peer, i, sizes[i])));
    }
    if (rank.until_arrived(sizes.size())) rank.until_sent();
  });
}

TEST_P(RailContract, AllToAllWithEverythingInFlight) {
  constexpr std::size_t kRanks = 4;
  constexpr std::size_t kFrames = 40;
  run_ranks(*backend, kRanks, [&](Rank& rank) {
    std::mt19937_64 random(rank.self.index());
    for (std::size_t i = 0; i < kFrames; ++i) {
      for (std::size_t peer = 0; peer < kRanks; ++peer) {
        if (RankId(peer) == rank.self) continue;
        const std::uint64_t bytes = random() % 5 == 0 ? random() % 150'000 : random() % 9'000;
        EXPECT_TRUE(rank.send(rank.frame(RankId(peer), i, bytes)));
      }
    }
    if (rank.until_arrived(kFrames * (kRanks - 1))) rank.until_sent();
    EXPECT_TRUE(rank.losses.empty());
  });
}

TEST_P(RailContract, RefusedFramesAreCountedAndHurtNoOther) {
  constexpr std::uint64_t kFrames = 30;
  run_ranks(*backend, 2, [](Rank& rank) {
    if (rank.self == kFirst) {
      for (std::uint64_t i = 0; i < kFrames; ++i) {
        FrameHeader frame = rank.frame(kSecond, i, 100 + 3000 * i);
        frame.kind = FrameKind::Header;
        EXPECT_TRUE(rank.send(frame));
      }
      rank.until_sent();
      return;
    }
    rank.place_size = [](const FrameHeader& frame) -> std::size_t {
      if (frame.step % 3 == 0) return 0;
      return frame.step % 3 == 1 ? frame.bytes : frame.bytes + 1;
    };
    rank.until("wait for the good frames and the count of the others",
               [&] { return rank.frames.size() + rank.rail().refused() >= kFrames; });
    EXPECT_EQ(rank.rail().refused(), 20U);
    EXPECT_EQ(rank.frames.size(), 10U);
    for (const FrameHeader& frame : rank.frames) EXPECT_EQ(frame.step % 3, 1U);
  });
}

TEST_P(RailContract, SentMeansThatNothingIsHeldHere) {
  for (int round = 0; round < 3; ++round) {
    std::promise<void> received;
    auto done = received.get_future();
    run_ranks(*backend, 2, [&](Rank& rank) {
      constexpr std::uint64_t kFrames = 60;
      if (rank.self == kFirst) {
        for (std::uint64_t i = 0; i < kFrames; ++i) {
          EXPECT_TRUE(rank.send(rank.frame(kSecond, i, 61'000)));
        }
        if (!rank.until_sent()) return;
        // No progress() here from now on.
        EXPECT_EQ(done.wait_for(10s), std::future_status::ready) << "the tail is stuck here";
      } else if (rank.until_arrived(kFrames)) {
        received.set_value();
      }
    });
    if (HasFailure()) return;
  }
}

TEST_P(RailContract, TheSinkMaySend) {
  constexpr std::size_t kFrames = 40;
  run_ranks(*backend, 2, [](Rank& rank) {
    const RankId peer(1 - rank.self.value);
    if (rank.self == kSecond) {
      rank.on_arrived = [&](const FrameHeader& frame) {
        EXPECT_TRUE(rank.send(rank.frame(source_of(frame), frame.step, frame.bytes)));
      };
    } else {
      for (std::size_t i = 0; i < kFrames; ++i) {
        EXPECT_TRUE(rank.send(rank.frame(peer, i, 5'000 * i)));
      }
    }
    if (rank.until_arrived(kFrames)) rank.until_sent();
  });
}

TEST_P(RailContract, ASendWakesItsOwner) {
  run_ranks(*backend, 2, [](Rank& rank) {
    const RankId peer(1 - rank.self.value);
    EXPECT_TRUE(rank.send(rank.frame(peer, 0, 10)));
    if (!rank.until_arrived(1) || !rank.until_sent()) return;
    rank.idle(20ms);
    if (rank.self == kSecond) {
      rank.until_arrived(6);
      return;
    }
    for (std::uint64_t i = 1; i < 6; ++i) {
      EXPECT_TRUE(rank.send(rank.frame(peer, i, 10 * i)));
      if (!rank.sleep_until_sent()) return;
    }
  });
}

TEST_P(RailContract, ABlockedRankSleeps) {
  run_ranks(*backend, 2, [](Rank& rank) {
    const RankId peer(1 - rank.self.value);
    EXPECT_TRUE(rank.send(rank.frame(peer, 0, 10)));
    if (!rank.until_arrived(1) || !rank.until_sent()) return;
    const double before = thread_cpu_seconds();
    const Deadline start = Clock::now();
    if (rank.self == kFirst) {
      rank.idle(500ms);
      EXPECT_TRUE(rank.send(rank.frame(peer, 1, 10)));
      rank.until_sent();
    } else {
      rank.until_arrived(2);
    }
    const double used = thread_cpu_seconds() - before;
    const std::chrono::duration<double> wall = Clock::now() - start;
    EXPECT_LT(used, 0.05 * std::max(wall.count(), 0.5)) << "rank " << rank.self.value << " spins";
  });
}

TEST_P(RailContract, APeerThatGoesIsLostOnce) {
  constexpr RankId kGoing{2};
  run_ranks(*backend, 3, [&](Rank& rank) {
    for (std::size_t peer = 0; peer < 3; ++peer) {
      if (RankId(peer) == rank.self) continue;
      EXPECT_TRUE(rank.send(rank.frame(RankId(peer), 0, 100)));
    }
    if (!rank.until_arrived(2) || !rank.until_sent()) return;
    if (rank.self == kGoing) {
      // What is on its way from a peer that goes may be lost with it: wait until all have all.
      const auto acknowledged = [&] {
        return std::count_if(rank.frames.begin(), rank.frames.end(),
                             [](const FrameHeader& frame) { return frame.step == 1; }) == 2;
      };
      if (rank.until("wait for acknowledgements", acknowledged)) rank.destroy_rail();
      return;
    }
    EXPECT_TRUE(rank.send(rank.frame(kGoing, 1, 0)));
    // Some of these are on their way when the peer goes, some meet a dead one.
    for (std::uint64_t i = 2; i < 30; ++i) {
      const Status accepted = rank.send(rank.frame(kGoing, i, 100'000));
      if (accepted) continue;
      EXPECT_EQ(accepted.error().code, ErrorCode::PeerFailed);
    }
    rank.until("wait for lost()", [&] { return !rank.losses.empty(); });
    const Status late = rank.send(rank.frame(kGoing, 100, 8));
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, ErrorCode::PeerFailed);
    EXPECT_EQ(late.error().rank, kGoing.value);

    const RankId other(1 - rank.self.value);
    EXPECT_TRUE(rank.send(rank.frame(other, 1, 70'000)));
    if (!rank.until_arrived(3) || !rank.until_sent()) return;
    rank.idle(30ms);
    ASSERT_EQ(rank.losses.size(), 1U);
    EXPECT_EQ(rank.losses[0].first, kGoing);
    EXPECT_EQ(rank.losses[0].second.code, ErrorCode::PeerFailed);
  });
}

TEST_P(RailContract, WrongArgumentsAreTyped) {
  run_ranks(*backend, 2, [](Rank& rank) {
    const auto code = [](const Status& status) {
      EXPECT_FALSE(status);
      return status ? ErrorCode::Internal : status.error().code;
    };
    EXPECT_EQ(code(rank.send(rank.frame(RankId(9), 0, 8))), ErrorCode::InvalidArgument);
    const RankId peer(1 - rank.self.value);
    EXPECT_EQ(code(rank.rail().send(peer, rank.frame(peer, 0, 8), {}, 1)),
              ErrorCode::InvalidArgument);
    std::mt19937_64 random(5);
    for (std::size_t length = 0; length < 300; ++length) {
      std::vector<std::byte> junk(length);
      for (std::byte& byte : junk) byte = static_cast<std::byte>(random());
      EXPECT_EQ(code(rank.rail().connect(RankId(8), junk)), ErrorCode::InvalidArgument);
    }
    EXPECT_EQ(code(rank.rail().connect(peer, rank.rail().address())), ErrorCode::InvalidArgument);
    EXPECT_TRUE(rank.send(rank.frame(peer, 1, 8)));
    if (rank.until_arrived(1)) rank.until_sent();
  });
}

}  // namespace

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(RailContract);

}  // namespace railwave::transport::test
