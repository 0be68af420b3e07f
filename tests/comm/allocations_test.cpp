// The steady state takes no memory from the system: after a warm-up, steps with new routing call no
// operator new on any rank. What the transports of these tests do for themselves (they copy every
// frame into a queue) is left out: rails are wrapped, and count only while they call the library.
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "counted_new.hpp"
#include "group/thread_world.hpp"

namespace {

using counted_new::Inside;
using counted_new::Outside;
using railwave::Communicator;
using railwave::CommunicatorOptions;
using railwave::Path;
using railwave::RailId;
using railwave::RankId;
using railwave::RowLayout;
using railwave::Status;
using railwave::Topology;
using railwave::transport::FrameHeader;

/// A rail of which only the library's own part counts.
class UncountedRail final : public railwave::transport::Rail, public railwave::transport::RailSink {
 public:
  explicit UncountedRail(std::unique_ptr<Rail> rail) : rail_(std::move(rail)) {
    rail_->set_sink(this);
  }
  [[nodiscard]] std::vector<std::byte> address() const override { return rail_->address(); }
  void set_sink(RailSink* sink) override { sink_ = sink; }
  Status connect(RankId peer, std::span<const std::byte> address) override {
    return rail_->connect(peer, address);
  }
  Status send(RankId peer, const FrameHeader& frame, std::span<const std::byte> payload,
              std::uint64_t token) override {
    const Outside rail;
    return rail_->send(peer, frame, payload, token);
  }
  Status progress() override {
    const Outside rail;
    return rail_->progress();
  }
  [[nodiscard]] int wait_fd() const override { return rail_->wait_fd(); }
  bool arm() override { return rail_->arm(); }
  [[nodiscard]] std::uint64_t refused() const override { return rail_->refused(); }

  std::span<std::byte> place(const FrameHeader& frame) override {
    const Inside library;
    return sink_->place(frame);
  }
  void arrived(const FrameHeader& frame) override {
    const Inside library;
    sink_->arrived(frame);
  }
  void sent(std::uint64_t token) override {
    const Inside library;
    sink_->sent(token);
  }
  void lost(RankId peer, const railwave::Error& why) override { sink_->lost(peer, why); }

 private:
  std::unique_ptr<Rail> rail_;
  RailSink* sink_ = nullptr;
};

constexpr int kNodes = 3;
constexpr int kTopK = 4;
constexpr int kHidden = 64;
constexpr int kExperts = 24;
constexpr int kMostTokens = 40;
constexpr int kWarmUp = 120;
constexpr int kSteps = 200;

/// A caller's windows: each pair of nodes by itself.
railwave::Windows one_by_one() {
  railwave::Windows windows;
  for (int s = 0; s < kNodes; ++s) {
    for (int d = 0; d < kNodes; ++d) {
      if (s == d) continue;
      windows.push_back({{railwave::NodeId(s), railwave::NodeId(d)}});
    }
  }
  return windows;
}

/// What one rank gives and gets, made before anything is counted.
class Caller {
 public:
  Caller(Communicator& group, RankId self, int ranks, RowLayout layout)
      : group_(group),
        layout_(layout),
        dice_(static_cast<std::uint64_t>(self.value) + 1),
        room_(ranks * kMostTokens * kTopK),
        x_(kMostTokens * kHidden),
        recv_x_(static_cast<std::size_t>(room_ * kHidden)),
        y_(x_.size()),
        idx_(kMostTokens * kTopK),
        weights_(idx_.size(), 0.5F),
        weights_back_(idx_.size()),
        windows_(one_by_one()) {}

  /// A dispatch with new routing, its repetition, and a combine of each. At most `most` tokens.
  void step(Path path, int most) {
    tokens_ = static_cast<std::int64_t>(dice_() % static_cast<std::uint64_t>(most + 1));
    for (std::int64_t& expert : idx_) {
      expert = static_cast<std::int64_t>(dice_() % (kExperts + 1)) - 1;
    }
    railwave::DispatchArguments fresh = dispatch_arguments();
    fresh.top_k = kTopK;
    fresh.topk_idx = std::span(idx_).first(static_cast<std::size_t>(tokens_ * kTopK));
    fresh.topk_weights = std::span(weights_).first(fresh.topk_idx.size());
    fresh.path = path;
    fresh.layout = layout_;
    // The windows are taken over and given back: the caller's own copy of them would be one.
    if (dice_shared_() % 2 == 0) fresh.windows = std::move(windows_);
    take(group_.dispatch(fresh));
    if (!fresh.windows.empty()) windows_ = std::move(fresh.windows);
    combine(false);
    railwave::DispatchArguments again = dispatch_arguments();
    again.handle = received_.handle;
    take(group_.dispatch(again));
    combine(true);
  }

  /// The same by tickets, two phases at once.
  void step_with_tickets(Path path, int most) {
    tokens_ = most;
    for (std::int64_t& expert : idx_) expert = static_cast<std::int64_t>(dice_() % kExperts);
    railwave::DispatchArguments fresh = dispatch_arguments();
    fresh.top_k = kTopK;
    fresh.topk_idx = std::span(idx_).first(static_cast<std::size_t>(tokens_ * kTopK));
    fresh.path = path;
    fresh.layout = layout_;
    auto first = group_.dispatch_async(fresh);
    ASSERT_TRUE(first);
    fresh.reuse = &second_received_;
    fresh.recv_x = {};
    auto second = group_.dispatch_async(fresh);
    ASSERT_TRUE(second);
    take(first->wait());
    auto result = second->wait();
    ASSERT_TRUE(result) << to_string(result.error());
    second_received_ = *std::move(result);
    auto combined = group_.combine_async(combine_arguments(false));
    ASSERT_TRUE(combined);
    auto report = combined->wait();
    ASSERT_TRUE(report) << to_string(report.error());
    report_ = *std::move(report);
  }

 private:
  railwave::DispatchArguments dispatch_arguments() {
    railwave::DispatchArguments in;
    in.x = x_.data();
    in.tokens = tokens_;
    in.hidden = kHidden;
    in.recv_x = std::as_writable_bytes(std::span(recv_x_));
    in.reuse = &received_;
    return in;
  }
  railwave::CombineArguments combine_arguments(bool with_weights) {
    railwave::CombineArguments in;
    in.handle = received_.handle;
    in.x = recv_x_.data();
    in.rows = received_.rows;
    in.hidden = kHidden;
    in.out = std::as_writable_bytes(std::span(y_));
    if (with_weights) {
      in.apply_weights = layout_ == RowLayout::ExpertMajor;
      in.return_weights = true;
      in.topk_weights = received_.topk_weights;
      in.out_topk_weights =
          std::span(weights_back_).first(static_cast<std::size_t>(tokens_ * kTopK));
    }
    in.reuse = &report_;
    return in;
  }
  void take(railwave::Result<railwave::Received> result) {
    ASSERT_TRUE(result) << to_string(result.error());
    received_ = *std::move(result);
  }
  void combine(bool with_weights) {
    auto report = group_.combine(combine_arguments(with_weights));
    ASSERT_TRUE(report) << to_string(report.error());
    report_ = *std::move(report);
  }

  Communicator& group_;
  RowLayout layout_;
  std::mt19937_64 dice_;
  std::mt19937_64 dice_shared_;  // the same on every rank
  std::int64_t room_;
  std::vector<std::uint16_t> x_;
  std::vector<std::uint16_t> recv_x_;
  std::vector<std::uint16_t> y_;
  std::vector<std::int64_t> idx_;
  std::vector<float> weights_;
  std::vector<float> weights_back_;
  railwave::Windows windows_;
  std::int64_t tokens_ = 0;
  railwave::Received received_;
  railwave::Received second_received_;
  railwave::PhaseReport report_;
};

/// All ranks of a test come to the same place.
class Meeting {
 public:
  explicit Meeting(int ranks) : ranks_(ranks) {}
  void meet() {
    std::unique_lock lock(mutex_);
    const int turn = turn_;
    if (++here_ == ranks_) {
      here_ = 0;
      ++turn_;
      changed_.notify_all();
    }
    changed_.wait(lock, [&] { return turn_ != turn; });
  }

 private:
  int ranks_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int here_ = 0;
  int turn_ = 0;
};

/// What one step of a rank is, at most so many tokens long.
using Step = void (*)(Caller&, Path, int);

struct Steps {
  RowLayout layout;
  int phases;
  Step step;
};

CommunicatorOptions options_of(RankId self, int ranks, int phases) {
  CommunicatorOptions options;
  options.self = self;
  options.max_tokens_per_rank = kMostTokens;
  options.max_recv_rows = ranks * kMostTokens * kTopK;
  options.max_hidden = kHidden;
  options.max_top_k = kTopK;
  options.phases_in_flight = phases;
  return options;
}

/// Calls of operator new in kSteps steps on all ranks, after a warm-up of steps at least as long.
std::int64_t allocations_of(const Steps& steps) {
  const auto topology = Topology::uniform(kNodes, 2, 2).value();
  Meeting meeting(topology.ranks());
  std::int64_t total = 0;
  world::Options world;
  world.wrap = [](std::unique_ptr<railwave::transport::Rail> rail) {
    return std::make_unique<UncountedRail>(std::move(rail));
  };
  world::run(
      topology,
      [&](RankId) { return railwave::Placement::contiguous(kExperts, topology.ranks()).value(); },
      [&](RankId self) { return options_of(self, topology.ranks(), steps.phases); },
      [&](RankId self, auto& group) {
        ASSERT_TRUE(group) << to_string(group.error());
        Caller caller(*group, self, topology.ranks(), steps.layout);
        const auto run = [&](int count, int most) {
          for (int i = 0; i < count && !testing::Test::HasFailure(); ++i) {
            steps.step(caller, railwave::kAllPaths[static_cast<std::size_t>(i) % 4], most);
          }
        };
        run(kWarmUp, kMostTokens);
        meeting.meet();
        if (self.value == 0) counted_new::start();
        meeting.meet();
        run(kSteps, kMostTokens * 3 / 4);
        meeting.meet();
        if (self.value == 0) total = counted_new::stop();
        meeting.meet();
      },
      world);
  return total;
}

TEST(Allocations, AreCounted) {
  constexpr std::align_val_t kLine{64};
  counted_new::start();
  // Calls by name, which no compiler leaves out.
  ::operator delete(::operator new(8));
  ::operator delete(::operator new(8, std::nothrow));
  ::operator delete[](::operator new[](8));
  ::operator delete(::operator new(64, kLine), kLine);
  {
    const Outside rail;
    ::operator delete(::operator new(8));
    const Inside library;
    ::operator delete(::operator new(8));
  }
  EXPECT_EQ(counted_new::stop(), 5);
}

TEST(Allocations, NoneInRankMajorSteps) {
  EXPECT_EQ(allocations_of({RowLayout::RankMajor, 1,
                            [](Caller& caller, Path path, int most) { caller.step(path, most); }}),
            0);
}

TEST(Allocations, NoneInExpertMajorSteps) {
  EXPECT_EQ(allocations_of({RowLayout::ExpertMajor, 1,
                            [](Caller& caller, Path path, int most) { caller.step(path, most); }}),
            0);
}

TEST(Allocations, NoneWithTickets) {
  EXPECT_EQ(allocations_of({RowLayout::RankMajor, 3,
                            [](Caller& caller, Path path, int most) {
                              caller.step_with_tickets(path, most);
                            }}),
            0);
}

}  // namespace
