#include "exec/rail_flow.hpp"

#include <algorithm>
#include <chrono>

#include "base/fail.hpp"
#include "transport/shared_word.hpp"

namespace railwave::exec {

using transport::FrameHeader;
using transport::FrameKind;

namespace {

std::vector<std::int64_t> planned_bytes(const RailFlow::Setup& setup,
                                        const std::vector<Stream>& inbound) {
  std::vector<std::int64_t> planned(static_cast<std::size_t>(setup.windows), 0);
  for (const Stream& stream : inbound) {
    if (stream.receiver == setup.engine->self() && stream.receiver_rail == setup.rail) {
      planned[stream.window] += stream.records * setup.shape.row_bytes;
    }
  }
  return planned;
}

std::int64_t nanoseconds() {
  using std::chrono::nanoseconds;
  return std::chrono::duration_cast<nanoseconds>(Clock::now().time_since_epoch()).count();
}

}  // namespace

RailFlow::RailFlow(const Setup& setup, const std::vector<Stream>& inbound,
                   const std::vector<Stream>& outbound)
    : setup_(setup),
      node_(setup.engine->node()),
      out_(static_cast<std::size_t>(setup.windows)),
      in_(static_cast<std::size_t>(setup.windows)),
      levels_(planned_bytes(setup, inbound)),
      active_(static_cast<std::size_t>(setup.engine->topology().nodes())) {
  const RankId self = setup.engine->self();
  for (const Stream& stream : outbound) {
    if (stream.sender == self && stream.sender_rail == setup.rail) {
      out_[stream.window].push_back({&stream});
    }
  }
  for (const Stream& stream : inbound) {
    if (stream.receiver != self || stream.receiver_rail != setup.rail) continue;
    In in{&stream, {}, 0, stream.records, {}, {}, false, 0};
    in.have.resize(static_cast<std::size_t>(setup.shape.count(stream.records)));
    in.readers.resize(static_cast<std::size_t>(setup.engine->fabric().size()));
    in.interval.source = setup.engine->topology().node_of(stream.sender);
    in.interval.rail = setup.rail;
    in.interval.window = static_cast<std::uint32_t>(stream.window);
    in_[stream.window].push_back(std::move(in));
    arriving_ += stream.records;
  }
  const auto slots = setup.slots.size() / static_cast<std::size_t>(setup.slot_bytes);
  for (std::size_t slot = slots; slot > 0; --slot) {
    free_slots_.push_back(static_cast<std::uint32_t>(slot - 1));
  }
  level_ = levels_.level_with_lead(setup.lead_bytes);
  setup_.keeper->publish_level(setup.rail, level_);
}

Result<bool> RailFlow::push() {
  if (refused_) return fail(*refused_);
  bool moved = false;
  while (window_ < setup_.windows) {
    std::vector<Out>& outs = out_[static_cast<std::size_t>(window_)];
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

Result<bool> RailFlow::push_window(std::vector<Out>& outs) {
  bool moved = false;
  // Destinations take turns chunk by chunk, so that a full set of slots is shared fairly.
  for (std::size_t idle = 0; idle < outs.size() && !free_slots_.empty(); ++turn_) {
    Out& out = outs[turn_ % outs.size()];
    const NodeId to = setup_.engine->topology().node_of(out.stream->receiver);
    if (out.next == out.stream->records || !setup_.keeper->gate().may_send(window_, to)) {
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
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  const std::int64_t count =
      setup_.shape.records_in(out.next / setup_.shape.records, out.stream->records);
  const auto payload = setup_.slots.subspan(slot * static_cast<std::size_t>(setup_.slot_bytes),
                                            static_cast<std::size_t>(setup_.shape.payload(count)));
  setup_.source->pack(*out.stream, out.next, count, payload.data());
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

void RailFlow::sent(std::uint64_t token) {
  free_slots_.push_back(static_cast<std::uint32_t>(token - 1));
}

RailFlow::In* RailFlow::find(const FrameHeader& frame) {
  if (frame.window >= static_cast<std::uint32_t>(setup_.windows)) return nullptr;
  for (In& in : in_[frame.window]) {
    if (in.stream->sender.value == static_cast<std::int32_t>(frame.source) &&
        in.stream->sender_rail.value == static_cast<std::int32_t>(frame.rail)) {
      return &in;
    }
  }
  return nullptr;
}

std::span<std::byte> RailFlow::place(const FrameHeader& frame) {
  In* in = find(frame);
  if (frame.kind != FrameKind::Records || in == nullptr ||
      frame.first_record >= in->stream->records || frame.first_record % setup_.shape.records != 0) {
    return {};
  }
  const std::int64_t chunk = frame.first_record / setup_.shape.records;
  const std::int64_t count = setup_.shape.records_in(chunk, in->stream->records);
  const auto bytes = static_cast<std::size_t>(setup_.shape.payload(count));
  if (frame.records != count || frame.bytes != bytes) return {};
  if (in->have[static_cast<std::size_t>(chunk)]) {
    duplicate_.resize(bytes);  // readers may be at the first copy already
    return duplicate_;
  }
  const std::int64_t at =
      setup_.map->stage + in->stream->stage_offset + chunk * setup_.shape.stride();
  return setup_.engine->fabric().own().subspan(static_cast<std::size_t>(at), bytes);
}

void RailFlow::begin(In& in, std::int64_t now) {
  if (in.active || in.missing == 0) return;
  in.active = true;
  in.interval.first_ns = now;
  // Several drivers of one node are one sender.
  if (active_[in.interval.source.index()]++ == 0) max_fan_in_ = std::max(max_fan_in_, ++fan_in_);
}

void RailFlow::arrived(const FrameHeader& frame) {
  if (frame.kind == FrameKind::Received || frame.kind == FrameKind::Grant) {
    setup_.keeper->heard(setup_.rail, frame);
    return;
  }
  In* in = find(frame);
  if (in == nullptr) return;
  const std::int64_t now = nanoseconds();
  begin(*in, now);
  if (frame.kind != FrameKind::Records) return;
  const auto chunk = static_cast<std::size_t>(frame.first_record / setup_.shape.records);
  if (in->have[chunk]) return;
  const std::int64_t at = setup_.map->stage + in->stream->stage_offset +
                          static_cast<std::int64_t>(chunk) * setup_.shape.stride();
  Status approved = setup_.source->readers(*in->stream, frame.first_record, frame.records,
                                           setup_.engine->fabric().own().data() + at, in->readers);
  if (!approved) {
    refused_ = std::move(approved).error();
    return;
  }
  in->have[chunk] = true;
  in->interval.last_ns = now;
  count(*in, frame.records);
  publish(*in);
  if (in->missing == 0) finish(*in);
  raise_level(*in, frame.records);
}

void RailFlow::raise_level(const In& in, std::int64_t records) {
  levels_.arrived(static_cast<int>(in.stream->window), records * setup_.shape.row_bytes);
  const int level = levels_.level_with_lead(setup_.lead_bytes);
  if (level == level_) return;
  level_ = level;
  setup_.keeper->publish_level(setup_.rail, level);
}

void RailFlow::count(In& in, std::int64_t records) {
  const std::int64_t bytes = records * setup_.shape.row_bytes;
  in.missing -= records;
  arriving_ -= records;
  in.interval.bytes += bytes;
  for (const std::vector<In>& window : in_) {
    for (const In& other : window) {
      // Bytes of a sender that came while one that began before it was still active.
      if (other.interval.source != in.interval.source && other.active &&
          other.interval.first_ns < in.interval.first_ns) {
        in.overlap += bytes;
        return;
      }
    }
  }
}

void RailFlow::publish(In& in) {
  while (in.in_order < static_cast<std::int64_t>(in.have.size()) &&
         in.have[static_cast<std::size_t>(in.in_order)]) {
    ++in.in_order;
  }
  const std::int64_t records = std::min(in.in_order * setup_.shape.records, in.stream->records);
  std::byte* at =
      setup_.engine->fabric().own().data() + setup_.map->stream_words + 8 * in.stream->ordinal;
  transport::publish(reinterpret_cast<std::uint64_t*>(at),
                     (setup_.step << 32) | static_cast<std::uint64_t>(records));
}

void RailFlow::finish(In& in) {
  in.active = false;
  if (--active_[in.interval.source.index()] == 0) --fan_in_;
  for (std::size_t local = 0; local < in.readers.size(); ++local) {
    if (in.readers[local] != 0 && static_cast<int>(local) != setup_.engine->local()) {
      setup_.engine->fabric().signal(static_cast<int>(local));
    }
  }
}

std::vector<RankId> RailFlow::awaited() const {
  std::vector<RankId> out;
  for (const std::vector<In>& window : in_) {
    for (const In& in : window) {
      if (in.missing > 0) out.push_back(in.stream->sender);
    }
  }
  return out;
}

void RailFlow::report(PhaseReport& out) const {
  out.max_fan_in = std::max(out.max_fan_in, max_fan_in_);
  for (const std::vector<In>& window : in_) {
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
