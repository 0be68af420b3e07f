// Ranks as threads, each with a rail and an event loop, under a watchdog.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/event_loop.hpp"
#include "transport/rail.hpp"

namespace railwave::transport::test {

/// Makes the rails of one backend. Called from the test's thread only.
class RailBackend {
 public:
  virtual ~RailBackend() = default;
  virtual std::unique_ptr<Rail> open(RankId rank) = 0;
};

/// The bytes that `source` sends to `destination` as frame `step`.
std::vector<std::byte> pattern(const FrameHeader& frame);

/// One rank: sends patterns, checks what arrives, counts every call of its sink and checks that
/// the calls come when the contract says.
class Rank final : public RailSink {
 public:
  Rank(RankId self, std::unique_ptr<Rail> rail, Deadline deadline,
       std::function<std::string()> everyone);

  /// A Records frame to `peer`; its `step` names it and must be new for this pair.
  [[nodiscard]] FrameHeader frame(RankId peer, std::uint64_t step, std::uint64_t bytes) const;
  /// Sends the pattern of `frame`. The payload is overwritten once sent() is called.
  Status send(const FrameHeader& frame);
  /// Runs the rail until `done`, asleep between events. False (and a failure that prints the state
  /// of every rank) at the deadline.
  bool until(const char* what, const std::function<bool()>& done);
  bool until_arrived(std::size_t frames);
  bool until_sent();
  /// The same, but sleeps before the first progress(): the rail must wake it for what it owes.
  bool sleep_until_sent();
  /// Runs the rail for `time`.
  void idle(std::chrono::milliseconds time);
  void destroy_rail() { rail_.reset(); }

  [[nodiscard]] Rail& rail() { return *rail_; }
  [[nodiscard]] std::string state() const;

  std::span<std::byte> place(const FrameHeader& frame) override;
  void arrived(const FrameHeader& frame) override;
  void sent(std::uint64_t token) override;
  void lost(RankId peer, const Error& why) override;

  const RankId self;
  std::function<std::size_t(const FrameHeader&)> place_size;  ///< when set, instead of frame.bytes
  std::function<void(const FrameHeader&)> on_arrived;         ///< the first time a frame arrives
  std::vector<FrameHeader> frames;                            ///< in the order of arrival
  std::vector<std::pair<RankId, Error>> losses;

 private:
  using Key = std::pair<std::uint32_t, std::uint64_t>;  // source, step
  void check_call(const char* which) const;
  Status step_rail();

  std::unique_ptr<Rail> rail_;
  Deadline deadline_;
  std::function<std::string()> everyone_;
  EventLoop loop_;
  std::map<std::uint64_t, std::vector<std::byte>> sending_;  // by token
  std::map<Key, std::vector<std::byte>> places_;
  std::set<Key> seen_;
  std::uint64_t next_token_ = 1;
  bool in_progress_ = false;
  bool in_send_ = false;
  std::atomic<const char*> phase_{"start"};
  std::atomic<std::uint64_t> accepted_{0}, sent_{0}, arrived_{0}, placed_{0}, lost_{0};
};

/// Opens `count` rails, connects all with all and runs `body` in one thread for each rank.
/// REQUIRES: backend outlives the call.
void run_ranks(RailBackend& backend, std::size_t count, const std::function<void(Rank&)>& body);

}  // namespace railwave::transport::test
