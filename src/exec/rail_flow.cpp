#include "exec/rail_flow.hpp"

#include <algorithm>
#include <utility>

#include "base/fail.hpp"
#include "exec/phase.hpp"

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
    In in{&stream, {}, {}, 0, stream.records, {}, {}, false, 0, false};
    in.have.resize(static_cast<std::size_t>(setup.shape.count(stream.records)));
    in.placed.resize(in.have.size());
    in.readers.resize(static_cast<std::size_t>(setup.engine->fabric().size()));
    in.interval.source = setup.engine->topology().node_of(stream.sender);
    in.interval.rail = setup.rail;
    in.interval.window = static_cast<std::uint32_t>(stream.window);
    in_[stream.window].push_back(std::move(in));
    arriving_ += stream.records;
  }
  for (std::vector<In>& window : in_) {
    for (In& in : window) lanes_[in.stream->ordinal].push_back(&in);
  }
  level_ = levels_.level_with_lead(setup.lead_bytes);
  setup_.keeper->publish_level(setup.rail, level_);
}

Result<bool> RailFlow::push() {
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

bool RailFlow::may_send(const Out& out) const {
  const NodeId to = setup_.engine->topology().node_of(out.stream->receiver);
  return out.next < out.stream->records && setup_.phase->may_begin(setup_.rail, to) &&
         setup_.keeper->gate().may_send(window_, to) &&
         setup_.source->ready(*out.stream, out.next, next_count(out));
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
  const auto payload = setup_.slots->of(setup_.rail, slot, setup_.shape.payload(count));
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
