// Phases with tickets: the same outcomes as calls that wait, in order, several under way; and what
// a ticket says before, at and after its end. Ranks are threads.
#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <poll.h>

#include "group/thread_world.hpp"
#include "group/used_time.hpp"

namespace {

using railwave::CombineArguments;
using railwave::Communicator;
using railwave::CommunicatorOptions;
using railwave::DispatchArguments;
using railwave::DType;
using railwave::ErrorCode;
using railwave::Path;
using railwave::PhaseReport;
using railwave::Placement;
using railwave::RankId;
using railwave::Received;
using railwave::SenderInterval;
using railwave::Ticket;
using railwave::Topology;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kRanks = 4;  // two nodes of two ranks
constexpr int kHidden = 64;
constexpr int kTokens = 24;

/// Buffers of one dispatch and its combine. Token t of rank p holds 100 p + t + `extra`; slot k
/// goes to rank (p + t + k) mod 4.
struct Batch {
  explicit Batch(RankId self, int extra = 0, int tokens = kTokens) {
    for (int t = 0; t < tokens; ++t) {
      for (int k = 0; k < 2; ++k) idx.push_back((self.value + t + k) % kRanks);
      x.insert(x.end(), kHidden, static_cast<float>(100 * self.value + t + extra));
    }
    out.resize(x.size());
  }
  [[nodiscard]] DispatchArguments dispatch(Path path = Path::Joint) const {
    DispatchArguments in;
    in.x = x.data();
    in.tokens = static_cast<std::int64_t>(x.size()) / kHidden;
    in.hidden = kHidden;
    in.dtype = DType::FP32;
    in.top_k = 2;
    in.topk_idx = idx;
    in.path = path;
    return in;
  }
  /// The experts give the rows back as they came.
  [[nodiscard]] CombineArguments combine(const Received& received) {
    CombineArguments in;
    in.handle = received.handle;
    in.x = received.x;
    in.rows = received.rows;
    in.hidden = kHidden;
    in.dtype = DType::FP32;
    in.out = std::as_writable_bytes(std::span(out));
    return in;
  }
  /// Every token comes back from its two ranks.
  [[nodiscard]] bool is_twice() const {
    return std::equal(x.begin(), x.end(), out.begin(), [](float a, float b) { return 2 * a == b; });
  }
  std::vector<std::int64_t> idx;
  std::vector<float> x;
  std::vector<float> out;
};

CommunicatorOptions settings(RankId self, int phases) {
  CommunicatorOptions options;
  options.self = self;
  options.max_tokens_per_rank = 64;
  options.max_recv_rows = 256;
  options.max_hidden = kHidden;
  options.widest_dtype = DType::FP32;
  options.max_top_k = 2;
  options.chunk_bytes = 1024;
  options.phases_in_flight = phases;
  return options;
}

void run_four(int phases, const world::Body& body, milliseconds time = seconds(20),
              const world::Options& options = {}) {
  world::run(
      *Topology::uniform(2, 2, 2), [](RankId) { return *Placement::contiguous(kRanks, kRanks); },
      [&](RankId self) {
        CommunicatorOptions o = settings(self, phases);
        o.deadlines = {seconds(20), time, time};
        return o;
      },
      [&](RankId self, auto& group) {
        ASSERT_TRUE(group) << to_string(group.error());
        body(self, group);
      },
      options);
}

void expect_sums(Communicator& group, RankId self, int extra) {
  Batch batch(self, extra);
  const auto received = group.dispatch(batch.dispatch());
  ASSERT_TRUE(received) << to_string(received.error());
  const auto combined = group.combine(batch.combine(*received));
  ASSERT_TRUE(combined) << to_string(combined.error());
  EXPECT_TRUE(batch.is_twice());
}

TEST(Async, GivesWhatACallThatWaitsGives) {
  run_four(1, [](RankId self, auto& group) {
    Batch waited(self);
    Batch batch(self);
    const auto expected = group->dispatch(waited.dispatch());
    ASSERT_TRUE(expected);
    auto ticket = group->dispatch_async(batch.dispatch());
    ASSERT_TRUE(ticket);
    const auto received = ticket->wait();
    ASSERT_TRUE(received) << to_string(received.error());
    EXPECT_EQ(received->rows, expected->rows);
    EXPECT_EQ(received->storage, expected->storage);
    EXPECT_EQ(received->topk_idx, expected->topk_idx);
    EXPECT_EQ(received->topk_weights, expected->topk_weights);
    EXPECT_EQ(received->tokens_per_expert, expected->tokens_per_expert);
    auto back = group->combine_async(batch.combine(*received));
    ASSERT_TRUE(back);
    const auto report = back->wait();
    ASSERT_TRUE(report) << to_string(report.error());
    EXPECT_GT(report->total_s, 0);
    EXPECT_TRUE(batch.is_twice());
    EXPECT_EQ(group->operations(), 3U);
  });
}

/// More tickets than may be under way, calls that wait between them, outcomes taken in any order.
TEST(Async, ManyPhasesWithAnyNumberUnderWay) {
  for (const int phases : {1, 2, 3, 16}) {
    run_four(phases, [](RankId self, auto& group) {
      std::vector<std::unique_ptr<Batch>> batches;
      std::vector<Ticket<Received>> dispatches;
      for (int i = 0; i < 12; ++i) {
        batches.push_back(std::make_unique<Batch>(self, i, i % 3 == 1 ? 0 : kTokens));
        const Path path = railwave::kAllPaths[static_cast<std::size_t>(i) % 4];
        auto ticket = group->dispatch_async(batches.back()->dispatch(path));
        ASSERT_TRUE(ticket);
        dispatches.push_back(std::move(*ticket));
      }
      expect_sums(*group, self, 500);
      std::vector<Received> received(dispatches.size());
      std::vector<Ticket<PhaseReport>> combines(dispatches.size());
      for (std::size_t i = 0; i < dispatches.size(); ++i) {
        auto outcome = dispatches[i].wait();
        ASSERT_TRUE(outcome) << to_string(outcome.error());
        received[i] = *std::move(outcome);
        auto ticket = group->combine_async(batches[i]->combine(received[i]));
        ASSERT_TRUE(ticket);
        combines[i] = std::move(*ticket);
      }
      for (std::size_t i = combines.size(); i > 0; --i) {
        const auto report = combines[i - 1].wait();
        ASSERT_TRUE(report) << to_string(report.error());
        EXPECT_TRUE(batches[i - 1]->is_twice()) << "batch " << i - 1;
      }
      expect_sums(*group, self, 600);
    });
  }
}

/// A ticket before, at and after the end of its phase. Rank 3 comes late, and when it is told.
TEST(Async, ATicketTellsWhenItsPhaseIsOver) {
  std::atomic<int> looked{0};
  run_four(1, [&](RankId self, auto& group) {
    Batch batch(self);
    while (self.value == 3 && looked < 3) std::this_thread::sleep_for(milliseconds(1));
    auto ticket = group->dispatch_async(batch.dispatch());
    ASSERT_TRUE(ticket);
    const auto fd = ticket->fd();
    ASSERT_TRUE(fd);
    pollfd event{*fd, POLLIN, 0};
    if (self.value != 3) {
      EXPECT_FALSE(ticket->done());
      EXPECT_EQ(::poll(&event, 1, 0), 0);
      const auto early = ticket->wait_for(milliseconds(10));
      ASSERT_FALSE(early);
      EXPECT_EQ(early.error().code, ErrorCode::Timeout);
      EXPECT_EQ(early.error().field, "ticket");
      EXPECT_TRUE(ticket->valid()) << "it goes on";
      ++looked;
    }
    EXPECT_EQ(::poll(&event, 1, 20'000), 1);
    EXPECT_TRUE(ticket->done());
    const auto received = ticket->wait_for(milliseconds(0));
    ASSERT_TRUE(received) << to_string(received.error());
    EXPECT_FALSE(ticket->valid());
    EXPECT_FALSE(ticket->done());
    EXPECT_EQ(ticket->wait().error().code, ErrorCode::InvalidArgument);
    EXPECT_EQ(ticket->wait_for(milliseconds(1)).error().field, "ticket");
    EXPECT_EQ(ticket->fd().error().field, "ticket");
    auto again = group->combine_async(batch.combine(*received));
    ASSERT_TRUE(again);
    while (!again->done()) std::this_thread::sleep_for(milliseconds(1));
    const auto late = again->fd();
    ASSERT_TRUE(late);
    event = {*late, POLLIN, 0};
    EXPECT_EQ(::poll(&event, 1, 0), 1) << "asked for after the end";
    EXPECT_TRUE(again->wait());
  });
}

/// What its arguments point to is borrowed, so it must not go before its phase.
TEST(Async, ATicketThatGoesWaitsForItsPhase) {
  run_four(2, [](RankId self, auto& group) {
    Batch first(self);
    Batch second(self, 7);
    const auto received = group->dispatch(first.dispatch());
    ASSERT_TRUE(received);
    {
      auto ticket = group->combine_async(first.combine(*received));
      ASSERT_TRUE(ticket);
    }
    EXPECT_TRUE(first.is_twice());
    auto ticket = group->dispatch_async(second.dispatch());
    ASSERT_TRUE(ticket);
    *ticket = Ticket<Received>();  // the same
    expect_sums(*group, self, 1);
  });
}

TEST(Async, TicketsMayOutliveTheirGroup) {
  run_four(2, [](RankId self, auto& group) {
    Batch batch(self);
    std::optional<Communicator> own(std::move(*group));
    auto ticket = own->dispatch_async(batch.dispatch());
    ASSERT_TRUE(ticket);
    own.reset();
    EXPECT_TRUE(ticket->done()) << "a group that goes waits for what is under way";
    const auto received = ticket->wait();
    ASSERT_TRUE(received) << to_string(received.error());
    EXPECT_EQ(received->handle.rows(), received->rows);
  });
}

/// A wrong input is its ticket's outcome, the others' PeerRejected; phases around it go on.
TEST(Async, WrongInputEndsItsPhaseAlone) {
  for (const int phases : {1, 2}) {
    run_four(phases, [](RankId self, auto& group) {
      Batch good(self);
      Batch bad(self, 3);
      Batch last(self, 5);
      if (self.value == 2) bad.idx[5] = 99;
      auto before = group->dispatch_async(good.dispatch());
      auto wrong = group->dispatch_async(bad.dispatch());
      auto after = group->dispatch_async(last.dispatch());
      ASSERT_TRUE(before && wrong && after);
      const auto refused = wrong->wait();
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code,
                self.value == 2 ? ErrorCode::InvalidArgument : ErrorCode::PeerRejected);
      EXPECT_EQ(refused.error().rank, 2);
      const auto received = after->wait();
      ASSERT_TRUE(received) << to_string(received.error());
      ASSERT_TRUE(before->wait());
      ASSERT_TRUE(group->combine(last.combine(*received)));
      EXPECT_TRUE(last.is_twice());
    });
  }
}

/// Rank 1 stays away: everything under way and in the queue fails with one error, in time, and so
/// do later calls.
TEST(Async, AGroupThatEndsEndsAllItsTickets) {
  std::atomic<int> ended{0};
  run_four(
      2,
      [&](RankId self, auto& group) {
        expect_sums(*group, self, 0);
        Batch batch(self);
        if (self.value == 1) {
          while (ended < kRanks - 1) std::this_thread::sleep_for(milliseconds(1));
          return;
        }
        std::vector<Ticket<Received>> tickets;
        for (int i = 0; i < 4; ++i) {
          auto ticket = group->dispatch_async(batch.dispatch());
          ASSERT_TRUE(ticket);
          tickets.push_back(std::move(*ticket));
        }
        const auto first = tickets[0].wait();
        ++ended;
        while (ended < kRanks - 1) std::this_thread::sleep_for(milliseconds(1));
        ASSERT_FALSE(first);
        EXPECT_EQ(first.error().code, ErrorCode::Timeout);
        EXPECT_EQ(first.error().rank, 1) << to_string(first.error());
        for (int i = 1; i < 4; ++i) {
          const auto other = tickets[static_cast<std::size_t>(i)].wait();
          ASSERT_FALSE(other);
          EXPECT_EQ(other.error().message, first.error().message);
        }
        const auto later = group->dispatch_async(batch.dispatch());
        ASSERT_FALSE(later);
        EXPECT_EQ(later.error().message, first.error().message);
        EXPECT_FALSE(group->dispatch(batch.dispatch()));
      },
      milliseconds(400));
}

/// Rank 3 begins its second phase late only: the first is over, on every rank, long before.
TEST(Async, APhaseEndsWhileTheNextOneWaits) {
  std::atomic<int> over{0};
  run_four(2, [&](RankId self, auto& group) {
    Batch first(self);
    Batch second(self, 9);
    auto one = group->dispatch_async(first.dispatch());
    ASSERT_TRUE(one);
    if (self.value == 3) {
      ASSERT_TRUE(one->wait());
      while (over < kRanks - 1) std::this_thread::sleep_for(milliseconds(1));
    }
    auto two = group->dispatch_async(second.dispatch());
    ASSERT_TRUE(two);
    if (self.value != 3) {
      ASSERT_TRUE(one->wait());
      EXPECT_FALSE(two->done());
      ++over;
    }
    ASSERT_TRUE(two->wait());
  });
}

std::vector<SenderInterval> intervals_on(const PhaseReport& report, int rail) {
  std::vector<SenderInterval> out;
  for (const SenderInterval& interval : report.intervals) {
    if (interval.rail.value == rail && interval.bytes > 0) out.push_back(interval);
  }
  return out;
}

/// The order of keys is (step, window): on each rail of a receiver the last byte of a phase comes
/// before the first one of the next, so that the fan-in stays what it is in each of them.
TEST(Async, OnEachRailOnePhaseComesAfterTheOther) {
  const auto policies = {railwave::StartPolicy::RailBarrier, railwave::StartPolicy::Grant};
  for (const auto policy : policies) {
    world::run(
        *Topology::uniform(4, 2, 2), [](RankId) { return *Placement::contiguous(kRanks, 8); },
        [&](RankId self) {
          CommunicatorOptions o = settings(self, 2);
          o.wave_start = policy;
          return o;
        },
        [](RankId self, auto& group) {
          ASSERT_TRUE(group) << to_string(group.error());
          for (int turn = 0; turn < 20; ++turn) {
            Batch first(self);
            Batch second(self, 9);
            auto one = group->dispatch_async(first.dispatch());
            auto two = group->dispatch_async(second.dispatch());
            ASSERT_TRUE(one && two);
            const auto a = one->wait();
            const auto b = two->wait();
            ASSERT_TRUE(a && b);
            for (int rail = 0; rail < 2; ++rail) {
              std::int64_t last = 0;
              for (const auto& interval : intervals_on(a->report, rail)) {
                last = std::max(last, interval.last_ns);
              }
              for (const auto& interval : intervals_on(b->report, rail)) {
                EXPECT_GE(interval.first_ns, last) << "rail " << rail << ", turn " << turn;
              }
            }
          }
        });
  }
}

/// With whole-node gates one rank of a node hears from another node for all its neighbours. Rank 1
/// is the one here, drives no rail of the second phase, and calls nothing after it: it must not be
/// gone before rank 0 knows what it needs.
TEST(Async, WhoHearsForItsNeighboursStaysUntilTheyKnow) {
  world::Options late;
  late.faults.max_delay = milliseconds(30);
  for (int turn = 0; turn < 4; ++turn) {
    std::atomic<int> over{0};
    late.faults.seed = static_cast<std::uint64_t>(turn) * 1000;
    run_four(
        2,
        [&](RankId self, auto& group) {
          Batch first(self);
          Batch second(self, 9, self.value == 0 ? 1 : 0);
          if (self.value == 0) second.idx = {2, 2};
          auto one = group->dispatch_async(first.dispatch(Path::Native));
          auto two = group->dispatch_async(second.dispatch(Path::Native));
          ASSERT_TRUE(one && two);
          ASSERT_TRUE(one->wait());
          const auto received = two->wait();
          ++over;
          ASSERT_TRUE(received) << to_string(received.error());
          while (over < kRanks) std::this_thread::sleep_for(milliseconds(1));
        },
        seconds(3), late);
  }
}

/// Three ranks have two phases under way, for which rank 3 is late by a second: nobody spins.
TEST(Async, WaitingForAPhaseIsFree) {
  std::atomic<int> begun{0};
  std::chrono::microseconds used{0};
  run_four(2, [&](RankId self, auto& group) {
    Batch first(self);
    Batch second(self, 9);
    if (self.value == 3) {
      while (begun < kRanks - 1) std::this_thread::sleep_for(milliseconds(1));
      const auto before = held::used_time();
      std::this_thread::sleep_for(seconds(1));
      used = held::used_time() - before;
    }
    auto one = group->dispatch_async(first.dispatch());
    auto two = group->dispatch_async(second.dispatch());
    ASSERT_TRUE(one && two);
    ++begun;
    ASSERT_TRUE(one->wait());
    ASSERT_TRUE(two->wait());
  });
  EXPECT_LT(used, milliseconds(100));
}

TEST(Async, CallsComeFromOneThreadAtATime) {
  std::atomic<bool> asked{false};
  run_four(1, [&](RankId self, auto& group) {
    Batch batch(self);
    Batch other(self, 2);
    if (self.value != 0) {
      while (!asked) std::this_thread::sleep_for(milliseconds(1));
      ASSERT_TRUE(group->dispatch(batch.dispatch()));
      return;
    }
    std::thread waiting([&] { EXPECT_TRUE(group->dispatch(batch.dispatch())); });
    while (group->operations() == 0) std::this_thread::sleep_for(milliseconds(1));
    const auto ticket = group->dispatch_async(other.dispatch());
    ASSERT_FALSE(ticket);
    EXPECT_EQ(ticket.error().code, ErrorCode::InvalidArgument);
    EXPECT_EQ(ticket.error().field, "group");
    asked = true;
    waiting.join();
  });
}

TEST(Async, TheNumberUnderWayIsTheSameOnEveryRank) {
  for (const int wrong : {0, 17}) {
    world::run(
        *Topology::uniform(1, 2, 1), [](RankId) { return *Placement::contiguous(2, 2); },
        [&](RankId self) { return settings(self, self.value == 1 ? wrong : 1); },
        [](RankId self, auto& group) {
          ASSERT_FALSE(group);
          EXPECT_EQ(group.error().code,
                    self.value == 1 ? ErrorCode::InvalidArgument : ErrorCode::PeerRejected);
          EXPECT_EQ(group.error().field, self.value == 1 ? "phases_in_flight" : "settings");
        });
  }
  world::run(
      *Topology::uniform(1, 2, 1), [](RankId) { return *Placement::contiguous(2, 2); },
      [](RankId self) { return settings(self, 1 + self.value); },
      [](RankId, auto& group) {
        ASSERT_FALSE(group);
        EXPECT_EQ(group.error().code, ErrorCode::Mismatch);
        EXPECT_EQ(group.error().field, "phases_in_flight");
      });
}

/// Memory is reserved for what may be under way, and the size query says so before.
TEST(Async, MemoryIsThatOfThePhasesUnderWay) {
  const Topology topology = *Topology::uniform(2, 2, 2);
  std::array<std::int64_t, 3> sizes{};
  for (int phases = 1; phases <= 3; ++phases) {
    sizes[static_cast<std::size_t>(phases - 1)] =
        railwave::workspace_size(topology, settings(RankId(0), phases))->segment;
  }
  EXPECT_GT(sizes[1], sizes[0]);
  EXPECT_NEAR(static_cast<double>(sizes[2] - sizes[1]), static_cast<double>(sizes[1] - sizes[0]),
              64 * 8)
      << "each phase takes as much as any other, but for rounding";
  EXPECT_LT(sizes[1], 2 * sizes[0]);
}

}  // namespace
