#include "exec/header_exchange.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "base/fail.hpp"
#include "transport/shared_word.hpp"

namespace railwave::exec {

using transport::FrameHeader;
using transport::FrameKind;

HeaderExchange::HeaderExchange(RankEngine& engine, std::vector<SegmentMap> maps)
    : engine_(engine),
      maps_(std::move(maps)),
      header_bytes_(step_header_bytes(engine.topology().nodes(), engine.topology().ranks())),
      greeted_(static_cast<std::size_t>(engine.topology().rails()),
               std::vector<bool>(static_cast<std::size_t>(engine.topology().ranks()))) {
  const Topology& topology = engine.topology();
  from_.resize(static_cast<std::size_t>(topology.nodes()));
  for (int n = 0; n < topology.nodes(); ++n) {
    const NodeId other(n);
    if (other == engine.node()) continue;
    from_[other.index()] = header_route(topology, other, engine.node());
    const HeaderRoute away = header_route(topology, engine.node(), other);
    if (away.sender == engine.self()) carried_.push_back({other, away});
    carriers_.push_back(topology.local_of(away.sender));
  }
  for (int local = 0; local < engine.fabric().size(); ++local) everyone_.push_back(local);
  std::sort(carriers_.begin(), carriers_.end());
  carriers_.erase(std::unique(carriers_.begin(), carriers_.end()), carriers_.end());
}

std::uint64_t HeaderExchange::word(int local, std::int64_t offset) const {
  return transport::observe(
      reinterpret_cast<const std::uint64_t*>(engine_.fabric().segment(local).data() + offset));
}

void HeaderExchange::set_word(std::int64_t offset, std::uint64_t value) {
  transport::publish(reinterpret_cast<std::uint64_t*>(engine_.fabric().own().data() + offset),
                     value);
}

void HeaderExchange::begin(const StepHeader& mine) {
  step_ = mine.step;
  for (Carried& carried : carried_) carried.sent = false;
  const SegmentMap& map = maps_[static_cast<std::size_t>(engine_.local())];
  const auto at = static_cast<std::size_t>(map.header + parity() * map.header_stride);
  encode(mine, engine_.topology().nodes(), engine_.fabric().own().subspan(at, header_bytes_));
  set_word(map.header_word + 8 * parity(), step_);
  // The last rank to publish sees all headers of the node; two at once may both think so.
  if (all_local()) tell(all_remote() ? everyone_ : carriers_);
}

bool HeaderExchange::all_local() const {
  for (int local = 0; local < engine_.fabric().size(); ++local) {
    if (!is_present(local)) return false;
  }
  return true;
}

bool HeaderExchange::node_is_here(NodeId node) const {
  if (node == engine_.node()) return true;
  const int local = engine_.topology().local_of(from_[node.index()].receiver);
  const SegmentMap& map = maps_[static_cast<std::size_t>(local)];
  return word(local, map.remote_words + 8 * (2 * node.value + parity())) == step_;
}

bool HeaderExchange::all_remote() const {
  for (int n = 0; n < engine_.topology().nodes(); ++n) {
    if (!node_is_here(NodeId(n))) return false;
  }
  return true;
}

void HeaderExchange::tell(const std::vector<int>& locals) {
  for (const int local : locals) {
    if (local != engine_.local()) engine_.fabric().signal(local);
  }
}

Status HeaderExchange::carry() {
  if (carried_.empty() || !all_local()) return {};
  std::vector<std::byte>& payload = payload_[step_ & 1];
  for (Carried& carried : carried_) {
    if (carried.sent) continue;
    if (&carried == &carried_.front()) {
      payload.resize(header_bytes_ * static_cast<std::size_t>(engine_.fabric().size()));
      for (int local = 0; local < engine_.fabric().size(); ++local) {
        const SegmentMap& map = maps_[static_cast<std::size_t>(local)];
        std::memcpy(
            payload.data() + header_bytes_ * static_cast<std::size_t>(local),
            engine_.fabric().segment(local).data() + map.header + parity() * map.header_stride,
            header_bytes_);
      }
    }
    FrameHeader frame;
    frame.kind = FrameKind::Header;
    frame.step = step_;
    frame.destination = static_cast<std::uint32_t>(carried.route.receiver.value);
    RAILWAVE_TRY(engine_.send(carried.route.sender_rail, frame, payload, 0));
    carried.sent = true;
  }
  return {};
}

Result<bool> HeaderExchange::advance() {
  // Looked at before carry(): the node may become complete, and with it all nodes, in between, and
  // this rank would go without having sent its node's headers.
  const bool complete = all_local() && all_remote();
  if (Status carried = carry(); !carried) return fail(std::move(carried).error());
  // A header that UCX still holds would be stuck once this rank leaves the call.
  return complete && engine_.unsent(step_) == 0;
}

const std::vector<StepHeader>& HeaderExchange::headers() {
  const Topology& topology = engine_.topology();
  headers_.resize(static_cast<std::size_t>(topology.ranks()));
  for (int n = 0; n < topology.nodes(); ++n) {
    const NodeId node(n);
    for (int local = 0; local < topology.ranks_at(node); ++local) {
      const bool own = node == engine_.node();
      const int where = own ? local : topology.local_of(from_[node.index()].receiver);
      const SegmentMap& map = maps_[static_cast<std::size_t>(where)];
      const auto at = static_cast<std::size_t>(
          own ? map.header + parity() * map.header_stride
              : map.remote + (parity() * topology.nodes() + n) * map.remote_stride +
                    local * static_cast<std::int64_t>(header_bytes_));
      decode(engine_.fabric().segment(where).subspan(at, header_bytes_), topology.nodes(),
             topology.ranks(), headers_[topology.rank_at(node, local).index()]);
    }
  }
  return headers_;
}

Result<std::vector<StepHeader>> HeaderExchange::exchange(const StepHeader& mine,
                                                         Deadline deadline) {
  begin(mine);
  const Deadline now = Clock::now();
  const RankEngine::Wait all{[this] { return advance(); }, [this] { return late(); }, deadline};
  RankEngine::Wait half = all;
  half.deadline = now + (deadline - now) / 2;
  Status done = engine_.run(half);
  if (!done && done.error().code == ErrorCode::Timeout) {
    RAILWAVE_TRY(tell_absent());
    done = engine_.run(all);
  }
  RAILWAVE_TRY(done);
  return headers();
}

Status HeaderExchange::greet(const std::vector<std::vector<RankId>>& peers, Deadline deadline) {
  for (std::size_t r = 0; r < peers.size(); ++r) {
    for (const RankId peer : peers[r]) {
      FrameHeader frame;
      frame.kind = FrameKind::Hello;
      frame.destination = static_cast<std::uint32_t>(peer.value);
      RAILWAVE_TRY(engine_.send(RailId(r), frame, {}, 0));
    }
  }
  const auto missing = [&]() -> RankId {
    for (std::size_t r = 0; r < peers.size(); ++r) {
      for (const RankId peer : peers[r]) {
        if (!greeted_[r][peer.index()]) return peer;
      }
    }
    return RankId(-1);
  };
  return engine_.run(
      {[&]() -> Result<bool> { return missing().value < 0 && engine_.unsent(0) == 0; },
       [&] {
         const RankId rank = missing();
         return Error{ErrorCode::Timeout, rank.value, "init",
                      fmt::format("no greeting over the rails from rank {} in time", rank.value)};
       },
       deadline});
}

bool HeaderExchange::is_due(const FrameHeader& frame) const {
  const RankId source(static_cast<std::int32_t>(frame.source));
  const NodeId node = engine_.topology().node_of(source);
  if (node == engine_.node()) return false;
  const HeaderRoute& route = from_[node.index()];
  // A peer is in this rank's newest step or in the next one.
  return route.sender == source && route.receiver == engine_.self() &&
         (frame.step == step_ || frame.step == step_ + 1) &&
         word(engine_.local(),
              maps_[static_cast<std::size_t>(engine_.local())].remote_words +
                  8 * (2 * node.value + static_cast<std::int64_t>(frame.step & 1))) < frame.step;
}

std::span<std::byte> HeaderExchange::place(RailId, const FrameHeader& frame) {
  const Topology& topology = engine_.topology();
  const NodeId node = topology.node_of(RankId(static_cast<std::int32_t>(frame.source)));
  if (frame.kind != FrameKind::Header || frame.flags != 0 || !is_due(frame)) return {};
  const SegmentMap& map = maps_[static_cast<std::size_t>(engine_.local())];
  const auto slot = static_cast<std::int64_t>(frame.step & 1) * topology.nodes() + node.value;
  return engine_.fabric().own().subspan(
      static_cast<std::size_t>(map.remote + slot * map.remote_stride),
      header_bytes_ * static_cast<std::size_t>(topology.ranks_at(node)));
}

void HeaderExchange::arrived(RailId rail, const FrameHeader& frame) {
  const RankId source(static_cast<std::int32_t>(frame.source));
  if (frame.kind == FrameKind::Hello) {
    greeted_[rail.index()][source.index()] = true;
    return;
  }
  const NodeId node = engine_.topology().node_of(source);
  if (!is_due(frame)) return;
  if (frame.flags == kAbsence) return hear_absent(node, frame);
  if (frame.bytes == 0) return;
  const SegmentMap& map = maps_[static_cast<std::size_t>(engine_.local())];
  set_word(map.remote_words + 8 * (2 * node.value + static_cast<std::int64_t>(frame.step & 1)),
           frame.step);
  // A header of the step after this one is seen when this rank has published its own.
  if (frame.step == step_ && all_local() && all_remote()) tell(everyone_);
}

}  // namespace railwave::exec
