#include "exec/rail_flow.hpp"

#include <algorithm>
#include <utility>

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "exec/phase.hpp"

namespace railwave::exec {

using transport::FrameHeader;
using transport::FrameKind;

namespace {

std::pmr::vector<std::int64_t> planned_bytes(const RailFlow::Setup& setup,
                                             std::span<const Stream> inbound) {
  std::pmr::vector<std::int64_t> planned(static_cast<std::size_t>(setup.windows), 0, setup.memory);
  for (const Stream& stream : inbound) {
    if (stream.receiver == setup.engine->self() && stream.receiver_rail == setup.rail) {
      planned[stream.window] += stream.records * setup.shape.row_bytes;
    }
  }
  return planned;
}

}  // namespace

RailFlow::RailFlow(const Setup& setup, std::span<const Stream> inbound,
                   std::span<const Stream> outbound)
    : setup_(setup),
      node_(setup.engine->node()),
      out_(static_cast<std::size_t>(setup.windows), setup.memory),
      in_(static_cast<std::size_t>(setup.windows), setup.memory),
      lanes_(setup.memory),
      levels_(planned_bytes(setup, inbound)),
      active_(static_cast<std::size_t>(setup.engine->topology().nodes()), setup.memory) {
  const RankId self = setup.engine->self();
  for (const Stream& stream : outbound) {
    if (stream.sender == self && stream.sender_rail == setup.rail) {
      out_[stream.window].push_back({&stream});
    }
  }
  for (const Stream& stream : inbound) {
    if (stream.receiver != self || stream.receiver_rail != setup.rail) continue;
    using Bits = std::pmr::vector<bool>;
    const auto chunks = static_cast<std::size_t>(setup.shape.count(stream.records));
    In in{&stream,
          Bits(chunks, false, setup.memory),
          Bits(chunks, false, setup.memory),
          0,
          stream.records,
          std::pmr::vector<std::uint8_t>(setup.memory),
          {},
          false,
          0,
          false};
    in.readers.resize(static_cast<std::size_t>(setup.engine->fabric().size()));
    in.interval.source = setup.engine->topology().node_of(stream.sender);
    in.interval.rail = setup.rail;
    in.interval.window = static_cast<std::uint32_t>(stream.window);
    in_[stream.window].push_back(std::move(in));
    arriving_ += stream.records;
  }
  for (auto& window : in_) {
    for (In& in : window) lanes_[in.stream->ordinal].push_back(&in);
  }
  if (setup.packing != Packing::Pipelined) place_frames();
  level_ = levels_.level_with_lead(setup.lead_bytes);
  setup_.keeper->publish_level(setup.rail, level_);
}

void RailFlow::place_frames() {
  std::int64_t at = 0;
  for (auto& outs : out_) {
    for (Out& out : outs) {
      out.frames_at = at;
      at += setup_.shape.stage_bytes(out.stream->records);
    }
  }
  const auto room =
      static_cast<std::int64_t>(setup_.slots->frames_of(setup_.rail, setup_.step).size());
  RAILWAVE_CHECK(at <= room, "%lld of %lld bytes", static_cast<long long>(at),
                 static_cast<long long>(room));
}

std::span<std::byte> RailFlow::frame_of(const Out& out, std::int64_t first) const {
  const std::int64_t chunk = first / setup_.shape.records;
  const std::int64_t count = setup_.shape.records_in(chunk, out.stream->records);
  const std::int64_t at = out.frames_at + chunk * setup_.shape.stride();
  return setup_.slots->frames_of(setup_.rail, setup_.step)
      .subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(setup_.shape.payload(count)));
}

Result<bool> RailFlow::pack(std::span<Out> outs) {
  for (Out& out : outs) {
    if (out.packed) continue;
    const std::int64_t records = out.stream->records;
    if (!setup_.source->ready(*out.stream, 0, records)) return false;
    for (std::int64_t first = 0; first < records; first += setup_.shape.records) {
      const std::int64_t count = setup_.shape.records_in(first / setup_.shape.records, records);
      RAILWAVE_TRY(setup_.source->pack(*out.stream, first, count, frame_of(out, first).data()));
    }
    out.packed = true;
  }
  return true;
}

Result<bool> RailFlow::pack_all() {
  if (prepacked_) return true;
  for (auto& outs : out_) {
    const Result<bool> packed = pack(outs);
    if (!packed || !*packed) return packed;
  }
  prepacked_ = true;
  return true;
}

Result<bool> RailFlow::is_packed(std::span<Out> outs) {
  if (outs.empty()) return true;
  switch (setup_.packing) {
    case Packing::Pipelined:
      return true;
    case Packing::Sequential:
      // Packed when the window may start, not while the one before is under way.
      if (std::none_of(outs.begin(), outs.end(), [&](const Out& out) { return may_start(out); })) {
        return false;
      }
      return pack(outs);
    case Packing::Prepacked:
      return pack_all();
  }
  return true;
}

Result<bool> RailFlow::push() {
  bool moved = false;
  if (setup_.packing == Packing::Prepacked) {
    const Result<bool> packed = pack_all();
    if (!packed || !*packed) return packed;
  }
  while (window_ < setup_.windows) {
    const std::span<Out> outs = out_[static_cast<std::size_t>(window_)];
    const Result<bool> packed = is_packed(outs);
    if (!packed) return packed;
    if (!*packed) break;
    const Result<bool> pushed = push_window(outs);
    if (!pushed) return pushed;
    moved |= *pushed;
    const bool queued = std::all_of(outs.begin(), outs.end(),
                                    [](const Out& out) { return out.next == out.stream->records; });
    if (!queued) break;
    ++window_;
  }
  return moved;
}

Result<bool> RailFlow::push_window(std::span<Out> outs) {
  bool moved = false;
  // Destinations take turns chunk by chunk, so that a full set of slots is shared fairly.
  for (std::size_t idle = 0; idle < outs.size() && setup_.slots->has_free(setup_.rail); ++turn_) {
    Out& out = outs[turn_ % outs.size()];
    if (!may_send(out)) {
      ++idle;
      continue;
    }
    RAILWAVE_TRY(send_begin(out));
    RAILWAVE_TRY(send_chunk(out));
    idle = 0;
    moved = true;
  }
  return moved;
}

bool RailFlow::may_start(const Out& out) const {
  const NodeId to = setup_.engine->topology().node_of(out.stream->receiver);
  return setup_.phase->may_begin(setup_.rail, to) && setup_.keeper->gate().may_send(window_, to);
}

bool RailFlow::may_send(const Out& out) const {
  return out.next < out.stream->records && may_start(out) &&
         (out.packed || setup_.source->ready(*out.stream, out.next, next_count(out)));
}

std::int64_t RailFlow::next_count(const Out& out) const {
  return setup_.shape.records_in(out.next / setup_.shape.records, out.stream->records);
}

Status RailFlow::send_begin(Out& out) {
  if (out.begun) return {};
  out.begun = true;
  FrameHeader frame;
  frame.kind = FrameKind::Begin;
  frame.step = setup_.step;
  frame.window = static_cast<std::uint32_t>(out.stream->window);
  frame.destination = static_cast<std::uint32_t>(out.stream->receiver.value);
  return setup_.engine->send(setup_.rail, frame, {}, 0);
}

Status RailFlow::send_chunk(Out& out) {
  const std::uint32_t slot = setup_.slots->take(setup_.rail);
  const std::int64_t count = next_count(out);
  const auto payload = out.packed
                           ? frame_of(out, out.next)
                           : setup_.slots->of(setup_.rail, slot, setup_.shape.payload(count));
  if (!out.packed) {
    RAILWAVE_TRY(setup_.source->pack(*out.stream, out.next, count, payload.data()));
  }
  FrameHeader frame;
  frame.kind = FrameKind::Records;
  frame.step = setup_.step;
  frame.window = static_cast<std::uint32_t>(out.stream->window);
  frame.destination = static_cast<std::uint32_t>(out.stream->receiver.value);
  frame.first_record = static_cast<std::uint32_t>(out.next);
  frame.records = static_cast<std::uint32_t>(count);
  out.next += count;
  sent_records_ += count;
  return setup_.engine->send(setup_.rail, frame, payload, slot + 1);
}

std::vector<RankId> RailFlow::blockers() const {
  std::vector<RankId> out;
  if (window_ == setup_.windows) return out;
  const Topology& topology = setup_.engine->topology();
  for (const Out& waiting : out_[static_cast<std::size_t>(window_)]) {
    if (waiting.next == waiting.stream->records) continue;
    const NodeId to = topology.node_of(waiting.stream->receiver);
    std::vector<NodeId> nodes = setup_.phase->before_blockers(setup_.rail, to);
    if (nodes.empty()) nodes = setup_.keeper->gate().blockers(window_, to);
    for (const NodeId node : nodes) {
      if (node == node_) continue;
      const RailId far = topology.ingress(node_, node, setup_.rail);
      out.push_back(topology.drivers(node, far).front());
    }
  }
  return out;
}

void RailFlow::report(PhaseReport& out) const {
  out.max_fan_in = std::max(out.max_fan_in, max_fan_in_);
  for (const auto& window : in_) {
    std::int64_t overlap = 0;
    for (const In& in : window) {
      overlap += in.overlap;
      out.intervals.push_back(in.interval);
      out.received_bytes[setup_.rail.index()] += in.interval.bytes;
    }
    out.overlap_bytes = std::max(out.overlap_bytes, overlap);
    out.overlap_total += overlap;
  }
  out.sent_records[setup_.rail.index()] += sent_records_;
  out.sent_bytes[setup_.rail.index()] += sent_records_ * setup_.shape.row_bytes;
}

}  // namespace railwave::exec
