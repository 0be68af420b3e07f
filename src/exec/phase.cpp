#include "exec/phase.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/fail.hpp"
#include "exec/gate_shapes.hpp"
#include "exec/record.hpp"
#include "transport/shared_word.hpp"

namespace railwave::exec {

using transport::FrameHeader;

namespace {

std::int64_t largest_frame(const Limits& limits) {
  return std::max(limits.chunk_bytes, limits.max_row_bytes + record_meta_bytes(limits.max_top_k));
}

}  // namespace

std::int64_t slots_bytes(const Limits& limits) { return largest_frame(limits) * limits.send_slots; }

SendSlots::SendSlots(const RankEngine& engine, const Limits& limits)
    : slot_bytes_(largest_frame(limits)),
      slots_(static_cast<std::size_t>(engine.topology().rails())) {
  for (std::size_t r = 0; r < slots_.size(); ++r) {
    if (!engine.drives(RailId(r))) continue;
    slots_[r].resize(static_cast<std::size_t>(slots_bytes(limits)));
  }
}

std::int64_t SendSlots::bytes() const {
  std::int64_t total = 0;
  for (const auto& slots : slots_) total += static_cast<std::int64_t>(slots.size());
  return total;
}

Phase::Phase(const PhaseSetup& setup)
    : setup_(setup),
      streams_(node_streams(*setup.plan, setup.engine->node(), setup.operation, setup.shape)),
      flows_(static_cast<std::size_t>(setup.engine->topology().rails())) {}

void Phase::open_rails(RecordSource& source) {
  const RankEngine& engine = *setup_.engine;
  const PhaseLoads loads(*setup_.plan, setup_.operation, setup_.shape.row_bytes);
  const bool whole_node = setup_.policy == StartPolicy::Submission;
  std::vector<RailId> all_rails;
  for (int r = 0; r < engine.topology().rails(); ++r) {
    if (engine.topology().live(engine.node(), RailId(r))) all_rails.emplace_back(r);
  }
  for (const RailId rail : all_rails) {
    if (!engine.drives(rail)) continue;
    if (!whole_node || keepers_.empty()) {
      keepers_.push_back(std::make_unique<GateKeeper>(GateKeeper::Setup{
          setup_.engine, setup_.maps, setup_.step, setup_.policy,
          whole_node ? all_rails : std::vector<RailId>{rail},
          whole_node ? loads.node_gate(engine.node()) : loads.rail_gate(engine.node(), rail)}));
    }
    // Each driver sees its part of the node's bytes only: it gets its part of the lead.
    const auto drivers =
        static_cast<std::int64_t>(engine.topology().drivers(engine.node(), rail).size());
    const RailFlow::Setup flow{setup_.engine,
                               keepers_.back().get(),
                               &source,
                               &setup_.maps[static_cast<std::size_t>(setup_.engine->local())],
                               setup_.shape,
                               setup_.step,
                               rail,
                               static_cast<int>(setup_.plan->windows().size()),
                               whole_node ? 0 : setup_.lead_bytes / drivers,
                               setup_.slots->of(rail),
                               setup_.slots->slot_bytes()};
    flows_[rail.index()] = std::make_unique<RailFlow>(flow, streams_.inbound, streams_.outbound);
  }
}

std::int64_t Phase::arrived_records(const Stream& inbound) const {
  const int local = setup_.engine->topology().local_of(inbound.receiver);
  const std::byte* at = setup_.engine->fabric().segment(local).data() +
                        setup_.maps[static_cast<std::size_t>(local)].stream_words +
                        8 * inbound.ordinal;
  const std::uint64_t word = transport::observe(reinterpret_cast<const std::uint64_t*>(at));
  if (word >> 32 != (setup_.step & 0xffffffffU)) return 0;
  const auto of_lane = static_cast<std::int64_t>(word & 0xffffffffU);
  return std::clamp<std::int64_t>(of_lane - inbound.first, 0, inbound.records);
}

const std::byte* Phase::stage_of(const Stream& inbound) const {
  const int local = setup_.engine->topology().local_of(inbound.receiver);
  return setup_.engine->fabric().segment(local).data() +
         setup_.maps[static_cast<std::size_t>(local)].stage + inbound.stage_offset;
}

namespace {

/// Frames of a step come to a handler for as long as this lives: also when memory ends in a phase,
/// nothing may come to one that is gone.
class OpenStep {
 public:
  OpenStep(RankEngine& engine, std::uint64_t step, FrameHandler* handler)
      : engine_(engine), step_(step) {
    engine_.open_step(step, handler);
  }
  ~OpenStep() { engine_.close_step(step_); }
  OpenStep(const OpenStep&) = delete;
  OpenStep& operator=(const OpenStep&) = delete;

 private:
  RankEngine& engine_;
  std::uint64_t step_;
};

}  // namespace

Status Phase::run(RecordSource& source, const std::function<bool()>& read, Deadline deadline) {
  open_rails(source);
  const OpenStep open(*setup_.engine, setup_.step, this);
  return setup_.engine->run({[&] { return advance(read); }, [this] { return late(); }, deadline});
}

Result<bool> Phase::advance(const std::function<bool()>& read) {
  for (bool moved = true; moved;) {
    moved = false;
    for (const auto& keeper : keepers_) {
      const Result<bool> changed = keeper->refresh();
      if (!changed) return changed;
      moved |= *changed;
    }
    for (const auto& flow : flows_) {
      if (!flow) continue;
      const Result<bool> pushed = flow->push();
      if (!pushed) return pushed;
      moved |= *pushed;
    }
  }
  const bool all_read = read();
  const auto settled = [](const auto& keeper) { return keeper->settled(); };
  const auto done = [](const auto& flow) { return !flow || flow->done(); };
  if (!all_read || setup_.engine->unsent() > 0 ||
      !std::all_of(flows_.begin(), flows_.end(), done)) {
    return false;
  }
  if (!std::exchange(read_all_, true)) setup_.rows->finish_reading();
  return std::all_of(keepers_.begin(), keepers_.end(), settled) && setup_.rows->released();
}

Error Phase::late() const {
  std::set<std::int32_t> ranks;
  // A neighbour that has not given its rows holds up others, too: it alone is named.
  for (const RankId rank : setup_.rows->awaited()) ranks.insert(rank.value);
  const bool rows_missing = !ranks.empty();
  for (const auto& flow : flows_) {
    if (!flow || rows_missing) continue;
    for (const RankId rank : flow->awaited()) ranks.insert(rank.value);
  }
  const char* what = setup_.operation == Operation::Dispatch ? "dispatch" : "combine";
  if (ranks.empty()) {
    // Nothing is missing on this rank's own rails: a neighbour waits, and this rank for it.
    for (const Stream& stream : streams_.inbound) {
      if (arrived_records(stream) < stream.records) ranks.insert(stream.sender.value);
    }
  }
  if (ranks.empty()) {
    // Everything planned is here, but a node does not say that it has come far enough.
    for (const auto& flow : flows_) {
      if (!flow) continue;
      for (const RankId rank : flow->blockers()) ranks.insert(rank.value);
    }
  }
  if (ranks.empty() && !setup_.rows->released()) {
    for (const RankId rank : setup_.rows->readers_left()) ranks.insert(rank.value);
  }
  return Error{ErrorCode::Timeout, ranks.empty() ? -1 : *ranks.begin(), what,
               fmt::format("step {}: {} not finished in time, waiting for ranks [{}], "
                           "{} frames not sent",
                           setup_.step, what, fmt::join(ranks, ", "), setup_.engine->unsent())};
}

void Phase::report(PhaseReport& out) const {
  const auto rails = flows_.size();
  out.sent_bytes.assign(rails, 0);
  out.received_bytes.assign(rails, 0);
  out.sent_records.assign(rails, 0);
  for (const auto& flow : flows_) {
    if (flow) flow->report(out);
  }
}

std::span<std::byte> Phase::place(RailId rail, const FrameHeader& frame) {
  return flows_[rail.index()]->place(frame);
}

void Phase::arrived(RailId rail, const FrameHeader& frame) { flows_[rail.index()]->arrived(frame); }

void Phase::sent(RailId rail, std::uint64_t token) { flows_[rail.index()]->sent(token); }

}  // namespace railwave::exec
