// Which frames an engine keeps, hands over, refuses; how its waits end. Both ranks in one thread.
#include "exec/rank_engine.hpp"

#include <chrono>
#include <cstring>
#include <map>
#include <thread>

#include <gtest/gtest.h>

#include "exec/loopback_ranks.hpp"

namespace {

using engines::Cluster;
using engines::in_ms;
using railwave::Error;
using railwave::ErrorCode;
using railwave::RailId;
using railwave::RankId;
using railwave::Result;
using railwave::Topology;
using railwave::exec::FrameHandler;
using railwave::exec::RankEngine;
using railwave::transport::FrameHeader;
using railwave::transport::FrameKind;

/// Takes payloads of any size and remembers what came.
class Recorder : public FrameHandler {
 public:
  std::span<std::byte> place(RailId, const FrameHeader& frame) override {
    ++placed;
    std::vector<std::byte>& room = payloads[frame.first_record];
    room.resize(frame.bytes);
    return room;
  }
  void arrived(RailId, const FrameHeader& frame) override { frames.push_back(frame); }
  void sent(RailId, std::uint64_t token) override { tokens.push_back(token); }

  int placed = 0;
  std::map<std::uint32_t, std::vector<std::byte>> payloads;
  std::vector<FrameHeader> frames;
  std::vector<std::uint64_t> tokens;
};

class RankEngineTest : public testing::Test {
 protected:
  RankEngineTest() : cluster_(*Topology::uniform(2, 1, 1), engines::small_limits()) {
    receiver_.set_control(&control_);
    sender_.set_control(&control_);
  }

  FrameHeader records(std::uint64_t step, std::uint32_t first) const {
    FrameHeader frame;
    frame.kind = FrameKind::Records;
    frame.step = step;
    frame.destination = 1;
    frame.first_record = first;
    return frame;
  }
  /// Sends `frame` from rank 0 and lets rank 1 take what has come.
  void send(const FrameHeader& frame, std::size_t bytes = 24) {
    payload_.assign(bytes, std::byte{static_cast<unsigned char>(frame.first_record + 1)});
    ASSERT_TRUE(sender_.send(RailId(0), frame, payload_, 0));
    run(sender_, [&] { return sender_.unsent(frame.step) == 0; });
    pump(receiver_);
  }
  static void run(RankEngine& engine, const std::function<bool()>& done) {
    const auto status = engine.run({[&]() -> Result<bool> { return done(); },
                                    [] {
                                      return Error{ErrorCode::Timeout, -1, "test", "late"};
                                    },
                                    in_ms(5000)});
    ASSERT_TRUE(status) << to_string(status.error());
  }
  /// Moves what is there once.
  static void pump(RankEngine& engine) {
    run(engine, [] { return true; });
  }

  Cluster cluster_;
  Recorder control_;
  RankEngine& sender_ = cluster_.engine(0);
  RankEngine& receiver_ = cluster_.engine(1);
  std::vector<std::byte> payload_;
};

TEST_F(RankEngineTest, KeepsFramesOfTheNextStepUntilItOpens) {
  send(records(1, 0));
  send(records(1, 7));
  FrameHeader level = records(1, 0);
  level.kind = FrameKind::Received;
  send(level, 0);
  Recorder step;
  receiver_.open_step(1, &step);
  ASSERT_EQ(step.frames.size(), 3U);
  EXPECT_EQ(step.frames[0].first_record, 0U);
  EXPECT_EQ(step.frames[2].kind, FrameKind::Received);
  EXPECT_EQ(step.payloads[7], std::vector<std::byte>(24, std::byte{8}));
  send(records(1, 9));
  EXPECT_EQ(step.frames.size(), 4U) << "and goes on with what comes later";
}

TEST_F(RankEngineTest, HandsTheFramesOfTheStepAfterOverInTheirTurn) {
  Recorder first;
  receiver_.open_step(1, &first);
  receiver_.close_step(1);
  send(records(2, 3));
  Recorder second;
  receiver_.open_step(2, &second);
  EXPECT_TRUE(first.frames.empty());
  EXPECT_EQ(second.frames.size(), 1U);
}

TEST_F(RankEngineTest, RefusesFramesOfClosedAndOfFarSteps) {
  receiver_.close_step(4);
  for (const std::uint64_t step : {3, 4, 6, 1'000'000}) send(records(step, 0));
  EXPECT_EQ(receiver_.rail(RailId(0)).refused(), 4U);
  send(records(5, 0));
  EXPECT_EQ(receiver_.rail(RailId(0)).refused(), 4U) << "only the next step's are kept";
  Recorder step;
  receiver_.open_step(5, &step);
  EXPECT_EQ(step.frames.size(), 1U);
  send(records(7, 0));
  EXPECT_EQ(receiver_.rail(RailId(0)).refused(), 5U);
  receiver_.close_step(5);
  send(records(5, 0));
  EXPECT_EQ(receiver_.rail(RailId(0)).refused(), 6U);
}

TEST_F(RankEngineTest, HandsFramesOfSeveralOpenStepsToTheirHandlers) {
  Recorder first;
  receiver_.open_step(1, &first);
  send(records(2, 7));  // early: step 2 is not open
  Recorder second;
  receiver_.open_step(2, &second);
  send(records(1, 8));
  send(records(2, 9));
  ASSERT_EQ(first.frames.size(), 1U);
  EXPECT_EQ(first.frames[0].first_record, 8U);
  ASSERT_EQ(second.frames.size(), 2U);
  EXPECT_EQ(second.frames[0].first_record, 7U);
  receiver_.close_step(2);  // the newer one may end first
  send(records(1, 10));
  EXPECT_EQ(first.frames.size(), 2U);
  EXPECT_EQ(receiver_.rail(RailId(0)).refused(), 0U);
  send(records(2, 11));
  EXPECT_EQ(receiver_.rail(RailId(0)).refused(), 1U);
}

TEST_F(RankEngineTest, IsWokenFromASleepByAnyThread) {
  const auto begin = railwave::Clock::now();  // before the thread's 20 ms begin
  std::jthread waker([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    receiver_.wake();
  });
  for (bool woken = false; !woken;) {
    const Result<bool> expired = receiver_.sleep_until(in_ms(20'000));
    ASSERT_TRUE(expired);
    ASSERT_FALSE(*expired);
    woken = railwave::Clock::now() - begin >= std::chrono::milliseconds(20);
  }
  waker.join();
  const Result<bool> again = receiver_.sleep_until(in_ms(20));
  ASSERT_TRUE(again);
  EXPECT_TRUE(*again) << "one wake ends one sleep";
}

TEST_F(RankEngineTest, ForgetsWhatItKeptOfAStepThatFails) {
  send(records(1, 0));
  receiver_.close_step(1);
  Recorder step;
  receiver_.open_step(1, &step);
  EXPECT_TRUE(step.frames.empty());
}

TEST_F(RankEngineTest, RefusesASecondCopyOfAKeptFrame) {
  send(records(1, 0));
  send(records(1, 0));
  EXPECT_EQ(receiver_.rail(RailId(0)).refused(), 1U);
  Recorder step;
  receiver_.open_step(1, &step);
  EXPECT_EQ(step.frames.size(), 1U);
}

TEST_F(RankEngineTest, IgnoresOtherJobsGenerationsAndDestinations) {
  Recorder step;
  receiver_.open_step(1, &step);
  const auto raw = [&](auto change) {
    FrameHeader frame = records(1, 0);
    frame.job = Cluster::kJob;
    frame.generation = Cluster::kGeneration;
    change(frame);
    payload_.assign(frame.bytes, std::byte{});
    ASSERT_TRUE(sender_.rail(RailId(0)).send(RankId(1), frame, payload_, 0));
    pump(receiver_);
  };
  for (const std::uint64_t bytes : {0, 8}) {
    raw([&](FrameHeader& f) { f.bytes = bytes, f.job = 1; });
    raw([&](FrameHeader& f) { f.bytes = bytes, f.generation = 2; });
    raw([&](FrameHeader& f) { f.bytes = bytes, f.destination = 0; });
    raw([&](FrameHeader& f) { f.bytes = bytes, f.source = 2; });
    raw([&](FrameHeader& f) { f.bytes = bytes, f.source = 0xffffffff; });
  }
  EXPECT_TRUE(step.frames.empty());
  EXPECT_EQ(step.placed, 0);
  raw([](FrameHeader& f) { f.bytes = 8; });
  EXPECT_EQ(step.frames.size(), 1U);
}

TEST_F(RankEngineTest, GivesHellosAndHeadersToControlInAnyStep) {
  for (const FrameKind kind : {FrameKind::Hello, FrameKind::Header}) {
    FrameHeader frame = records(9, 0);
    frame.kind = kind;
    send(frame, 0);
  }
  EXPECT_EQ(control_.frames.size(), 2U);
}

TEST_F(RankEngineTest, TellsTheHandlerOfTokensOtherThanZero) {
  Recorder step;
  sender_.open_step(1, &step);
  payload_.assign(8, std::byte{});
  ASSERT_TRUE(sender_.send(RailId(0), records(1, 0), payload_, 5));
  ASSERT_TRUE(sender_.send(RailId(0), records(1, 1), payload_, 0));
  EXPECT_EQ(sender_.unsent(1), 2);
  EXPECT_EQ(sender_.unsent(2), 0) << "counted by step";
  run(sender_, [this] { return sender_.unsent(1) == 0; });
  EXPECT_EQ(step.tokens, (std::vector<std::uint64_t>{5}));
}

TEST_F(RankEngineTest, WaitsEndAtTheDeadlineWithTheSentenceGiven) {
  const auto begin = railwave::Clock::now();
  const auto status =
      receiver_.run({[]() -> Result<bool> { return false; },
                     [] {
                       return Error{ErrorCode::Timeout, 4, "test", "rank 4 is late"};
                     },
                     in_ms(30)});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().rank, 4);
  EXPECT_GE(railwave::Clock::now() - begin, std::chrono::milliseconds(30));
}

TEST_F(RankEngineTest, BrokenOffIsBrokenOff) {
  receiver_.break_off({ErrorCode::IntegrityError, 0, "records", "first"});
  receiver_.break_off({ErrorCode::Internal, 1, "other", "second"});
  for (int again = 0; again < 2; ++again) {
    const auto status =
        receiver_.run({[]() -> Result<bool> { return true; }, [] { return Error{}; }, in_ms(1000)});
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::IntegrityError);
    EXPECT_EQ(status.error().message, "first");
  }
}

TEST_F(RankEngineTest, APeerThatGoesEndsTheWait) {
  cluster_.engines[0].reset();
  const auto status =
      receiver_.run({[]() -> Result<bool> { return false; }, [] { return Error{}; }, in_ms(5000)});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::PeerFailed);
  EXPECT_EQ(status.error().rank, 0);
}

}  // namespace
