#include "transport/rank_group.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <mutex>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace railwave::transport::test {
namespace {

constexpr std::chrono::seconds kDeadline{20};
constexpr std::chrono::seconds kGrace{5};  ///< for a rank that does not even look at the clock

}  // namespace

std::vector<std::byte> pattern(const FrameHeader& frame) {
  std::vector<std::byte> out(frame.bytes);
  std::uint64_t x = frame.source * 0x9e3779b97f4a7c15U + frame.destination * 0xbf58476d1ce4e5b9U +
                    frame.step * 0x94d049bb133111ebU + 1;
  for (std::byte& byte : out) {
    x = x * 6364136223846793005U + 1442695040888963407U;
    byte = static_cast<std::byte>(x >> 56);
  }
  return out;
}

Rank::Rank(RankId rank, std::unique_ptr<Rail> rail, Deadline deadline,
           std::function<std::string()> everyone)
    : self(rank),
      rail_(std::move(rail)),
      deadline_(deadline),
      everyone_(std::move(everyone)),
      loop_(EventLoop::create().value()) {
  rail_->set_sink(this);
  EXPECT_TRUE(loop_.watch(rail_->wait_fd(), 0));
}

FrameHeader Rank::frame(RankId peer, std::uint64_t step, std::uint64_t bytes) const {
  FrameHeader frame;
  frame.kind = FrameKind::Records;
  frame.job = 77;
  frame.generation = 2;
  frame.step = step;
  frame.source = static_cast<std::uint32_t>(self.value);
  frame.destination = static_cast<std::uint32_t>(peer.value);
  frame.bytes = bytes;
  return frame;
}

Status Rank::send(const FrameHeader& frame) {
  const std::uint64_t token = next_token_++;
  const auto& payload = sending_.emplace(token, pattern(frame)).first->second;
  const bool outer = std::exchange(in_send_, true);
  const RankId peer(static_cast<std::int32_t>(frame.destination));
  Status accepted = rail_->send(peer, frame, payload, token);
  in_send_ = outer;
  if (accepted) {
    ++accepted_;
  } else {
    sending_.erase(token);
  }
  return accepted;
}

Status Rank::step_rail() {
  in_progress_ = true;
  Status status = rail_->progress();
  in_progress_ = false;
  return status;
}

bool Rank::until(const char* what, const std::function<bool()>& done) {
  phase_ = what;
  for (;;) {
    const Status status = step_rail();
    EXPECT_TRUE(status) << to_string(status.error());
    if (!status) return false;
    if (done()) return true;
    const bool in_time = Clock::now() < deadline_;
    if (in_time && !rail_->arm()) continue;
    if (const auto ready = loop_.wait(deadline_); in_time && ready && !ready->empty()) continue;
    ADD_FAILURE() << "rank " << self.value << " is late: " << what << "\n" << everyone_();
    return false;
  }
}

bool Rank::until_arrived(std::size_t count) {
  return until("wait for frames", [&] { return frames.size() >= count; });
}

bool Rank::until_sent() {
  return until("wait for sent()", [&] { return sending_.empty(); });
}

bool Rank::sleep_until_sent() {
  phase_ = "sleep with a send on its way";
  if (rail_->arm()) {
    const auto ready = loop_.wait(std::min(deadline_, Clock::now() + std::chrono::seconds(3)));
    EXPECT_FALSE(ready->empty()) << "the rail owes a sent() and lets its owner sleep";
  }
  return until_sent();
}

void Rank::idle(std::chrono::milliseconds time) {
  phase_ = "idle";
  const Deadline end = Clock::now() + time;
  while (Clock::now() < end) {
    EXPECT_TRUE(step_rail());
    if (!rail_->arm()) continue;
    EXPECT_TRUE(loop_.wait(end));
  }
}

std::string Rank::state() const {
  return fmt::format("rank {}: {}; accepted {}, sent {}, placed {}, arrived {}, lost {}",
                     self.value, phase_.load(), accepted_.load(), sent_.load(), placed_.load(),
                     arrived_.load(), lost_.load());
}

void Rank::check_call(const char* which) const {
  EXPECT_TRUE(in_progress_) << which << "() outside progress()";
  EXPECT_FALSE(in_send_) << which << "() inside send()";
}

std::span<std::byte> Rank::place(const FrameHeader& frame) {
  check_call("place");
  ++placed_;
  EXPECT_GT(frame.bytes, 0U);
  auto& place = places_[{frame.source, frame.step}];
  place.assign(place_size ? place_size(frame) : frame.bytes, std::byte{0});
  return place;
}

void Rank::arrived(const FrameHeader& frame) {
  check_call("arrived");
  ++arrived_;
  const Key key{frame.source, frame.step};
  if (frame.bytes > 0) {
    EXPECT_TRUE(places_[key] == pattern(frame))
        << "frame " << frame.step << " of rank " << frame.source << " has wrong bytes";
  }
  if (!seen_.insert(key).second) return;
  frames.push_back(frame);
  if (on_arrived) on_arrived(frame);
}

void Rank::sent(std::uint64_t token) {
  check_call("sent");
  ++sent_;
  const auto found = sending_.find(token);
  ASSERT_NE(found, sending_.end()) << "sent(" << token << ") twice or never accepted";
  // Whoever still reads the payload sends wrong bytes from now on.
  std::fill(found->second.begin(), found->second.end(), std::byte{0xee});
  sending_.erase(found);
}

void Rank::lost(RankId peer, const Error& why) {
  check_call("lost");
  ++lost_;
  losses.emplace_back(peer, why);
}

namespace {

/// The ranks of one test and the watch over them.
class Group {
 public:
  Group(RailBackend& backend, std::size_t count) {
    const Deadline deadline = Clock::now() + kDeadline;
    for (std::size_t i = 0; i < count; ++i) {
      auto rail = backend.open(RankId(i));
      if (!rail) return;
      ranks_.push_back(std::make_unique<Rank>(RankId(i), std::move(rail), deadline,
                                              [this] { return states(); }));
      addresses_.push_back(ranks_.back()->rail().address());
    }
    complete_ = true;
  }

  void run(const std::function<void(Rank&)>& body) {
    ASSERT_TRUE(complete_) << "a rail could not be opened";
    for (const auto& rank : ranks_) connect(*rank);
    std::vector<std::thread> threads;
    for (const auto& rank : ranks_) {
      threads.emplace_back([&] {
        body(*rank);
        const std::lock_guard lock(mutex_);
        ++finished_;
        changed_.notify_all();
      });
    }
    watch();
    for (auto& thread : threads) thread.join();
  }

 private:
  void connect(Rank& rank) {
    for (std::size_t peer = 0; peer < ranks_.size(); ++peer) {
      if (RankId(peer) == rank.self) continue;
      EXPECT_LE(addresses_[peer].size(), 4096U);
      const Status connected = rank.rail().connect(RankId(peer), addresses_[peer]);
      EXPECT_TRUE(connected) << to_string(connected.error());
    }
  }

  void watch() {
    std::unique_lock lock(mutex_);
    const auto all = [this] { return finished_ == ranks_.size(); };
    if (changed_.wait_for(lock, kDeadline + kGrace, all)) return;
    std::cerr << "a rank hangs; the watchdog ends the test\n" << states() << std::endl;
    std::abort();
  }

  [[nodiscard]] std::string states() const {
    std::string out;
    for (const auto& rank : ranks_) out += rank->state() + "\n";
    return out;
  }

  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<std::vector<std::byte>> addresses_;
  bool complete_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t finished_ = 0;
};

}  // namespace

void run_ranks(RailBackend& backend, std::size_t count, const std::function<void(Rank&)>& body) {
  Group group(backend, count);
  group.run(body);
}

}  // namespace railwave::transport::test
