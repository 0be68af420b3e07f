#include "exec/rank_engine.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/checked.hpp"
#include "base/fail.hpp"

namespace railwave::exec {

using transport::FrameHeader;
using transport::FrameKind;

/// Ties a rail's calls to the rail's number.
class RankEngine::Port : public transport::RailSink {
 public:
  Port(RankEngine& engine, RailId rail) : engine_(engine), rail_(rail) {}
  std::span<std::byte> place(const FrameHeader& frame) override {
    return engine_.place(rail_, frame);
  }
  void arrived(const FrameHeader& frame) override { engine_.arrived(rail_, frame); }
  void sent(std::uint64_t token) override { engine_.sent(rail_, token); }
  void lost(RankId peer, const Error& why) override { engine_.lost(peer, why); }

 private:
  RankEngine& engine_;
  RailId rail_;
};

namespace {

// What a rail is given as token: the frame's step and the sender's token.
constexpr int kTokenBits = 24;
constexpr std::uint64_t kWakeTag = ~std::uint64_t{0};

}  // namespace

RankEngine::RankEngine(Parts parts) : parts_(std::move(parts)) {}

RankEngine::~RankEngine() {
  // Rails go first: they must not call into ports that are gone.
  parts_.rails.clear();
}

Result<std::unique_ptr<RankEngine>> RankEngine::create(Parts parts) {
  std::unique_ptr<RankEngine> engine(new RankEngine(std::move(parts)));
  auto loop = EventLoop::create();
  if (!loop) return fail(std::move(loop).error());
  engine->loop_ = std::move(*loop);
  RAILWAVE_TRY(engine->watch_all());
  return engine;
}

Status RankEngine::watch_all() {
  wake_ = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_) {
    return fail(ErrorCode::ResourceExhausted, parts_.self, "eventfd",
                "no descriptor is left; raise `ulimit -n`");
  }
  RAILWAVE_TRY(loop_.watch(wake_.get(), kWakeTag));
  RAILWAVE_TRY(loop_.watch(parts_.fabric->wait_fd(), 0));
  ports_.resize(parts_.rails.size());
  for (std::size_t r = 0; r < parts_.rails.size(); ++r) {
    if (!parts_.rails[r]) continue;
    ports_[r] = std::make_unique<Port>(*this, RailId(r));
    parts_.rails[r]->set_sink(ports_[r].get());
    RAILWAVE_TRY(loop_.watch(parts_.rails[r]->wait_fd(), r + 1));
  }
  return {};
}

bool RankEngine::is_ours(const FrameHeader& frame) const {
  return frame.job == parts_.job && frame.generation == parts_.generation &&
         frame.destination == static_cast<std::uint32_t>(parts_.self.value) &&
         frame.source < static_cast<std::uint32_t>(parts_.topology.ranks());
}

FrameHandler* RankEngine::handler_of(std::uint64_t step) const {
  for (const OpenStep& open : open_) {
    if (open.step == step) return open.handler;
  }
  return nullptr;
}

FrameHandler* RankEngine::handler_of(const FrameHeader& frame) const {
  if (!is_ours(frame)) return nullptr;
  if (frame.kind == FrameKind::Hello || frame.kind == FrameKind::Header) return control_;
  return handler_of(frame.step);
}

bool RankEngine::is_early(const FrameHeader& frame) const {
  // Nobody can be further ahead: to send records of a step a peer needs this rank's header of it,
  // which is given when the step before has been opened, if it ever is.
  return is_ours(frame) && frame.step == next_step_;
}

bool RankEngine::is_kept(const FrameHeader& frame) const {
  return std::any_of(early_.begin(), early_.end(),
                     [&](const Early& early) { return early.frame == frame; });
}

std::span<std::byte> RankEngine::place(RailId rail, const FrameHeader& frame) {
  if (FrameHandler* handler = handler_of(frame)) return handler->place(rail, frame);
  // Senders have at most their send slots in flight before this rank is in the step, which bounds
  // what is kept here.
  if (!is_early(frame) || is_kept(frame)) return {};
  return keep(rail, frame).payload;
}

void RankEngine::expect_early(std::size_t frames, std::size_t bytes) {
  for (std::size_t i = 0; i < frames; ++i) {
    spare_.emplace_front().payload.reserve(bytes);
    spare_.emplace_back();  // a frame without payload
  }
}

RankEngine::Early& RankEngine::keep(RailId rail, const FrameHeader& frame) {
  if (spare_.empty()) spare_.emplace_back();
  const auto spare = frame.bytes > 0 ? spare_.begin() : std::prev(spare_.end());
  early_.splice(early_.end(), spare_, spare);
  Early& early = early_.back();
  early.rail = rail;
  early.frame = frame;
  early.payload.resize(frame.bytes);
  early.complete = false;
  return early;
}

std::list<RankEngine::Early>::iterator RankEngine::drop(std::list<Early>& from,
                                                        std::list<Early>::iterator kept) {
  const auto next = std::next(kept);
  spare_.splice(kept->payload.capacity() > 0 ? spare_.begin() : spare_.end(), from, kept);
  return next;
}

void RankEngine::arrived(RailId rail, const FrameHeader& frame) {
  const auto kept = std::find_if(early_.begin(), early_.end(), [&](const Early& early) {
    return !early.complete && early.frame == frame;
  });
  if (kept != early_.end()) {
    complete(kept);
  } else if (FrameHandler* handler = handler_of(frame)) {
    handler->arrived(rail, frame);
  } else if (frame.bytes == 0 && is_early(frame) && !is_kept(frame)) {
    keep(rail, frame).complete = true;
  }
}

void RankEngine::complete(std::list<Early>::iterator kept) {
  kept->complete = true;
  if (is_early(kept->frame)) return;
  std::list<Early> taken;  // out of the handler's sight
  taken.splice(taken.begin(), early_, kept);
  if (FrameHandler* handler = handler_of(kept->frame)) hand_over(*kept, *handler);
  drop(taken, kept);
}

void RankEngine::hand_over(const Early& early, FrameHandler& handler) {
  if (!early.payload.empty()) {
    const std::span<std::byte> where = handler.place(early.rail, early.frame);
    if (where.size() != early.payload.size()) return;
    std::memcpy(where.data(), early.payload.data(), where.size());
  }
  handler.arrived(early.rail, early.frame);
}

void RankEngine::open_step(std::uint64_t step, FrameHandler* handler) {
  open_.push_back({step, handler});
  next_step_ = std::max(next_step_, step + 1);
  // References stay valid: a rail may still be writing into a kept payload.
  for (auto early = early_.begin(); early != early_.end();) {
    if (early->frame.step == step && early->complete) {
      hand_over(*early, *handler);
      early = drop(early_, early);
    } else {
      ++early;
    }
  }
}

void RankEngine::close_step(std::uint64_t step) {
  std::erase_if(open_, [&](const OpenStep& open) { return open.step == step; });
  next_step_ = std::max(next_step_, step + 1);
  // A rail may still write into one that is not complete.
  for (auto early = early_.begin(); early != early_.end();) {
    const bool over = early->frame.step <= step && early->complete;
    early = over ? drop(early_, early) : std::next(early);
  }
}

std::int64_t& RankEngine::count_unsent(std::uint64_t step) {
  for (Unsent& unsent : unsent_) {
    if (unsent.step == step) return unsent.frames;
  }
  return unsent_.emplace_back(Unsent{step, 0}).frames;
}

std::int64_t RankEngine::unsent(std::uint64_t step) const {
  for (const Unsent& unsent : unsent_) {
    if (unsent.step == step) return unsent.frames;
  }
  return 0;
}

void RankEngine::sent(RailId rail, std::uint64_t token) {
  const std::uint64_t step = token >> kTokenBits;
  if (--count_unsent(step) == 0) {
    std::erase_if(unsent_, [&](const Unsent& unsent) { return unsent.step == step; });
  }
  const std::uint64_t own = token & ((std::uint64_t{1} << kTokenBits) - 1);
  if (own == 0) return;
  if (FrameHandler* handler = handler_of(step)) handler->sent(rail, own);
}

Status RankEngine::send(RailId rail, FrameHeader frame, std::span<const std::byte> payload,
                        std::uint64_t token) {
  frame.job = parts_.job;
  frame.generation = parts_.generation;
  frame.source = static_cast<std::uint32_t>(parts_.self.value);
  frame.rail = static_cast<std::uint16_t>(rail.value);
  frame.bytes = payload.size();
  const RankId peer(static_cast<std::int32_t>(frame.destination));
  RAILWAVE_CHECK(token >> kTokenBits == 0, "%llu", static_cast<unsigned long long>(token));
  // Counted before it is queued: a rail may say at once that it is through.
  ++count_unsent(frame.step);
  Status queued =
      parts_.rails[rail.index()]->send(peer, frame, payload, frame.step << kTokenBits | token);
  if (queued) return queued;
  --count_unsent(frame.step);
  if (departures_ && queued.error().code == ErrorCode::PeerFailed) return {};
  return queued;
}

void RankEngine::expect_departures() {
  departures_ = true;
  failure_.reset();
}

void RankEngine::break_off(Error why) {
  if (!failure_) failure_ = std::move(why);
}

void RankEngine::lost(RankId peer, const Error& why) {
  if (departures_) return;
  break_off(Error{ErrorCode::PeerFailed, peer.value, "peer",
                  fmt::format("rank {} is gone: {}", peer.value, why.message)});
}

Status RankEngine::progress() {
  if (Status alive = parts_.fabric->poll(); !alive) {
    Error error = std::move(alive).error();
    if (error.code == ErrorCode::PeerFailed && error.rank >= 0) {
      error.rank = parts_.topology.rank_at(node(), error.rank).value;
    }
    return fail(std::move(error));
  }
  for (const auto& rail : parts_.rails) {
    if (rail) RAILWAVE_TRY(rail->progress());
  }
  if (failure_) return fail(*failure_);
  return {};
}

bool RankEngine::arm_all() {
  bool armed = true;
  for (const auto& rail : parts_.rails) {
    if (rail && !rail->arm()) armed = false;
  }
  return armed;
}

Result<bool> RankEngine::sleep_until(Deadline deadline) {
  if (!arm_all()) return false;
  const auto ready = loop_.wait(deadline);
  if (!ready) return fail(ready.error());
  if (std::find(ready->begin(), ready->end(), kWakeTag) != ready->end()) {
    std::uint64_t wakes = 0;
    (void)::read(wake_.get(), &wakes, sizeof(wakes));
  }
  return ready->empty();
}

void RankEngine::wake() {
  const std::uint64_t one = 1;
  (void)::write(wake_.get(), &one, sizeof(one));
}

Status RankEngine::run(const Wait& wait) {
  for (bool expired = false;;) {
    RAILWAVE_TRY(progress());
    const Result<bool> done = wait.advance();
    if (!done) return fail(done.error());
    if (*done) return {};
    // Before the rails are armed: one that is never at rest must not hide the deadline.
    if (expired || Clock::now() >= wait.deadline) return fail(wait.late());
    const Result<bool> slept = sleep_until(wait.deadline);
    if (!slept) return fail(slept.error());
    expired = *slept;
  }
}

}  // namespace railwave::exec
