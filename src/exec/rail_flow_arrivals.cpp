// What comes in on a rail: from the frame to its place, its count and its readers.
#include <algorithm>
#include <chrono>
#include <utility>

#include "exec/rail_flow.hpp"
#include "transport/shared_word.hpp"

namespace railwave::exec {

using transport::FrameHeader;
using transport::FrameKind;

namespace {

std::int64_t nanoseconds() {
  using std::chrono::nanoseconds;
  return std::chrono::duration_cast<nanoseconds>(Clock::now().time_since_epoch()).count();
}

}  // namespace

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

std::optional<std::size_t> RailFlow::chunk_of(const In& in, const FrameHeader& frame) const {
  if (frame.kind != FrameKind::Records || frame.first_record >= in.stream->records ||
      frame.first_record % setup_.shape.records != 0) {
    return std::nullopt;
  }
  const std::int64_t chunk = frame.first_record / setup_.shape.records;
  const std::int64_t count = setup_.shape.records_in(chunk, in.stream->records);
  if (frame.records != count ||
      frame.bytes != static_cast<std::uint64_t>(setup_.shape.payload(count))) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(chunk);
}

std::span<std::byte> RailFlow::stage_of(const In& in, std::size_t chunk) const {
  const auto index = static_cast<std::int64_t>(chunk);
  const std::int64_t count = setup_.shape.records_in(index, in.stream->records);
  const std::int64_t at =
      setup_.map->stage_of(setup_.step) + in.stream->stage_offset + index * setup_.shape.stride();
  return setup_.engine->fabric().own().subspan(
      static_cast<std::size_t>(at), static_cast<std::size_t>(setup_.shape.payload(count)));
}

std::span<std::byte> RailFlow::place(const FrameHeader& frame) {
  In* in = find(frame);
  if (in == nullptr) return {};
  const auto chunk = chunk_of(*in, frame);
  // A second copy is refused: readers may be at the first already.
  if (!chunk || in->placed[*chunk]) return {};
  in->placed[*chunk] = true;
  return stage_of(*in, *chunk);
}

void RailFlow::begin(In& in, std::int64_t now) {
  if (in.active || in.missing == 0) return;
  in.active = true;
  in.interval.first_ns = now;
  // Several drivers of one node are one sender.
  if (active_[in.interval.source.index()]++ == 0) max_fan_in_ = std::max(max_fan_in_, ++fan_in_);
}

void RailFlow::arrived(const FrameHeader& frame) {
  In* in = find(frame);
  if (in == nullptr) return;
  const std::int64_t now = nanoseconds();
  if (frame.kind == FrameKind::Begin) begin(*in, now);
  const auto chunk = chunk_of(*in, frame);
  if (chunk && in->placed[*chunk] && !in->have[*chunk]) take(*in, *chunk, now);
}

void RailFlow::take(In& in, std::size_t chunk, std::int64_t now) {
  const auto index = static_cast<std::int64_t>(chunk);
  const std::int64_t records = setup_.shape.records_in(index, in.stream->records);
  begin(in, now);
  Status sound = setup_.source->readers(*in.stream, index * setup_.shape.records, records,
                                        stage_of(in, chunk).data(), in.readers);
  if (!sound) return setup_.engine->break_off(std::move(sound).error());
  in.have[chunk] = true;
  in.interval.last_ns = now;
  count(in, records);
  publish(in);
  if (in.missing == 0) finish(in);
  raise_level(in, records);
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
  for (const auto& window : in_) {
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
  // A later window's records may come before the last of an earlier one's: they count when those
  // do.
  Lane& lane = lanes_.at(in.stream->ordinal);
  std::int64_t records = 0;
  auto end = lane.begin();
  while (end != lane.end() && (*end)->missing == 0) records += (*end++)->stream->records;
  if (end != lane.end()) records += (*end)->in_order * setup_.shape.records;
  std::byte* at = setup_.engine->fabric().own().data() +
                  setup_.map->stream_word(setup_.step, in.stream->ordinal);
  transport::publish(reinterpret_cast<std::uint64_t*>(at),
                     (setup_.step << 32) | static_cast<std::uint64_t>(records));
  for (auto part = lane.begin(); part != end; ++part) tell_readers(**part);
}

void RailFlow::tell_readers(In& in) {
  if (std::exchange(in.told, true)) return;
  for (std::size_t local = 0; local < in.readers.size(); ++local) {
    if (in.readers[local] != 0 && static_cast<int>(local) != setup_.engine->local()) {
      setup_.engine->fabric().signal(static_cast<int>(local));
    }
  }
}

void RailFlow::finish(In& in) {
  in.active = false;
  if (--active_[in.interval.source.index()] == 0) --fan_in_;
}

std::vector<RankId> RailFlow::awaited() const {
  std::vector<RankId> out;
  for (const auto& window : in_) {
    for (const In& in : window) {
      if (in.missing > 0) out.push_back(in.stream->sender);
    }
  }
  return out;
}

}  // namespace railwave::exec
