// The rank's engine: its rails, its node fabric and the one place where it sleeps.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <railwave/error.hpp>
#include <railwave/ids.hpp>
#include <railwave/topology.hpp>

#include "base/event_loop.hpp"
#include "transport/node_fabric.hpp"
#include "transport/rail.hpp"

namespace railwave::exec {

/// Who gets frames of one kind of traffic. Called from inside the engine, by its thread.
class FrameHandler {
 public:
  virtual ~FrameHandler() = default;
  /// Where the payload shall lie; another size than frame.bytes refuses the frame.
  virtual std::span<std::byte> place(RailId rail, const transport::FrameHeader& frame) = 0;
  virtual void arrived(RailId rail, const transport::FrameHeader& frame) = 0;
  /// A send with a token other than 0 is through. Comes to the handler of the frame's step.
  virtual void sent(RailId rail, std::uint64_t token) = 0;
};

/// Moves frames for whoever is registered, and waits on descriptors with a deadline. Several steps
/// may be open at once.
/// Frames of the step that this rank opens next are kept and handed over when it does: a fast peer
/// may send as soon as it has every header.
/// Threads: belongs to the thread that moves the group's phases; wake() may be called by any.
class RankEngine {
 public:
  struct Parts {
    Topology topology;
    RankId self;
    std::uint64_t job = 0;
    std::uint32_t generation = 0;
    std::unique_ptr<transport::NodeFabric> fabric;
    std::vector<std::unique_ptr<transport::Rail>> rails;  ///< [R], null where this rank drives none
  };
  static Result<std::unique_ptr<RankEngine>> create(Parts parts);
  ~RankEngine();
  RankEngine(const RankEngine&) = delete;
  RankEngine& operator=(const RankEngine&) = delete;

  [[nodiscard]] const Topology& topology() const { return parts_.topology; }
  [[nodiscard]] RankId self() const { return parts_.self; }
  [[nodiscard]] NodeId node() const { return parts_.topology.node_of(parts_.self); }
  [[nodiscard]] int local() const { return parts_.fabric->local(); }
  [[nodiscard]] transport::NodeFabric& fabric() { return *parts_.fabric; }
  [[nodiscard]] const transport::NodeFabric& fabric() const { return *parts_.fabric; }
  [[nodiscard]] bool drives(RailId rail) const { return parts_.rails[rail.index()] != nullptr; }

  /// REQUIRES: drives(rail).
  [[nodiscard]] transport::Rail& rail(RailId rail) { return *parts_.rails[rail.index()]; }

  /// Hello and Header frames of any step go to `control`. REQUIRES: outlives the engine's use.
  void set_control(FrameHandler* control) { control_ = control; }
  /// Frames of `step` go to `handler` until close_step(); early ones are handed over now. Steps are
  /// opened, or closed without having been open, one after the other, from 1.
  void open_step(std::uint64_t step, FrameHandler* handler);
  /// Makes room for so many early frames, each of up to `bytes`: more take memory when they come.
  void expect_early(std::size_t frames, std::size_t bytes);
  /// Frames of this step are refused from now on; those of the step after the newest are kept.
  void close_step(std::uint64_t step);
  /// A handler found a frame that can not be right: run() returns `why`, now and ever after.
  void break_off(Error why);

  /// Fills in job, generation, source and rail, and queues the frame on `rail`.
  /// REQUIRES: token < 2^24.
  Status send(RailId rail, transport::FrameHeader frame, std::span<const std::byte> payload,
              std::uint64_t token);
  /// Moves what can be moved now. Errors: as run(), but for Timeout.
  Status progress();
  /// The group is being left: from now on a peer that goes from a rail is no failure, and frames
  /// for it are dropped. A peer goes only when it needs nothing from this rank any more.
  void expect_departures();
  /// Frames of `step` that were queued and are not through.
  [[nodiscard]] std::int64_t unsent(std::uint64_t step) const;

  /// Moves frames and calls `advance` after each change, until it returns true.
  /// Errors: Timeout with late()'s sentence and rank at the deadline; PeerFailed when a peer or a
  /// neighbour is gone; what the rails report.
  struct Wait {
    std::function<Result<bool>()> advance;
    std::function<Error()> late;
    Deadline deadline;
  };
  Status run(const Wait& wait);
  /// Sleeps until something may have changed; true when `deadline` has passed instead.
  Result<bool> sleep_until(Deadline deadline);
  /// Ends a sleep, now or the next one. Threads: any.
  void wake();

 private:
  class Port;
  struct Early {
    RailId rail;
    transport::FrameHeader frame;
    std::vector<std::byte> payload;
    bool complete = false;  // false while the rail may still write into payload
  };
  struct OpenStep {
    std::uint64_t step;
    FrameHandler* handler;
  };
  struct Unsent {
    std::uint64_t step;
    std::int64_t frames;
  };
  explicit RankEngine(Parts parts);
  Status watch_all();
  void sent(RailId rail, std::uint64_t token);
  std::int64_t& count_unsent(std::uint64_t step);
  bool arm_all();
  std::span<std::byte> place(RailId rail, const transport::FrameHeader& frame);
  void arrived(RailId rail, const transport::FrameHeader& frame);
  [[nodiscard]] bool is_kept(const transport::FrameHeader& frame) const;
  Early& keep(RailId rail, const transport::FrameHeader& frame);
  void complete(std::list<Early>::iterator kept);
  /// Takes one that is in `from` out of it. Gives the next one there.
  std::list<Early>::iterator drop(std::list<Early>& from, std::list<Early>::iterator kept);
  static void hand_over(const Early& early, FrameHandler& handler);
  [[nodiscard]] FrameHandler* handler_of(std::uint64_t step) const;
  [[nodiscard]] FrameHandler* handler_of(const transport::FrameHeader& frame) const;
  [[nodiscard]] bool is_ours(const transport::FrameHeader& frame) const;
  [[nodiscard]] bool is_early(const transport::FrameHeader& frame) const;
  void lost(RankId peer, const Error& why);

  Parts parts_;
  EventLoop loop_;
  std::vector<std::unique_ptr<Port>> ports_;
  FrameHandler* control_ = nullptr;
  UniqueFd wake_;
  std::vector<OpenStep> open_;
  std::uint64_t next_step_ = 1;  // the first that was neither opened nor closed
  std::list<Early> early_;
  std::list<Early> spare_;      // for frames to come; those without memory last
  std::vector<Unsent> unsent_;  // of steps that have some
  bool departures_ = false;
  std::optional<Error> failure_;
};

}  // namespace railwave::exec
