#include "exec/phase.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/fail.hpp"
#include "exec/gate_shapes.hpp"
#include "exec/seconds.hpp"
#include "transport/shared_word.hpp"

namespace railwave::exec {

using transport::FrameHeader;
using transport::FrameKind;

Phase::Phase(const PhaseSetup& setup)
    : setup_(setup),
      memory_(setup.memory),
      streams_(
          node_streams(*setup.plan, setup.engine->node(), setup.operation, setup.shape, &memory_)),
      keepers_(&memory_),
      keeper_of_(static_cast<std::size_t>(setup.engine->topology().rails()), &memory_),
      flows_(keeper_of_.size(), &memory_) {
  keepers_.reserve(keeper_of_.size());  // they stay where they are
}

void Phase::open_rails(RecordSource& source) {
  const RankEngine& engine = *setup_.engine;
  const PhaseLoads loads(*setup_.plan, setup_.operation, setup_.shape.row_bytes, &memory_);
  const bool whole_node = setup_.policy == StartPolicy::Submission;
  std::pmr::vector<RailId> all_rails(&memory_);
  for (int r = 0; r < engine.topology().rails(); ++r) {
    if (engine.topology().live(engine.node(), RailId(r))) all_rails.emplace_back(r);
  }
  for (const RailId rail : all_rails) {
    if (!engine.drives(rail)) continue;
    if (!whole_node || keepers_.empty()) {
      const auto rails = whole_node ? std::span<const RailId>(all_rails) : std::span(&rail, 1);
      keepers_.emplace_back(GateKeeper::Setup{
          setup_.engine, setup_.maps, setup_.step, setup_.policy,
          std::pmr::vector<RailId>(rails.begin(), rails.end(), &memory_),
          whole_node ? loads.node_gate(engine.node()) : loads.rail_gate(engine.node(), rail),
          setup_.may_be_followed, &memory_});
    }
    keeper_of_[rail.index()] = &keepers_.back();
    // Each driver sees its part of the node's bytes only: it gets its part of the lead.
    const auto drivers =
        static_cast<std::int64_t>(engine.topology().drivers(engine.node(), rail).size());
    const RailFlow::Setup flow{setup_.engine,
                               &keepers_.back(),
                               &source,
                               this,
                               &setup_.maps[static_cast<std::size_t>(setup_.engine->local())],
                               setup_.shape,
                               setup_.step,
                               rail,
                               static_cast<int>(setup_.plan->windows().size()),
                               whole_node ? 0 : setup_.lead_bytes / drivers,
                               setup_.slots,
                               setup_.packing,
                               &memory_};
    flows_[rail.index()].emplace(flow, streams_.inbound, streams_.outbound);
  }
}

std::int64_t Phase::arrived_records(const Stream& inbound) const {
  const int local = setup_.engine->topology().local_of(inbound.receiver);
  const SegmentMap& map = setup_.maps[static_cast<std::size_t>(local)];
  const std::byte* at =
      setup_.engine->fabric().segment(local).data() + map.stream_word(setup_.step, inbound.ordinal);
  const std::uint64_t word = transport::observe(reinterpret_cast<const std::uint64_t*>(at));
  if (word >> 32 != (setup_.step & 0xffffffffU)) return 0;
  const auto of_lane = static_cast<std::int64_t>(word & 0xffffffffU);
  return std::clamp<std::int64_t>(of_lane - inbound.first, 0, inbound.records);
}

const std::byte* Phase::stage_of(const Stream& inbound) const {
  const int local = setup_.engine->topology().local_of(inbound.receiver);
  return setup_.engine->fabric().segment(local).data() +
         setup_.maps[static_cast<std::size_t>(local)].stage_of(setup_.step) + inbound.stage_offset;
}

void Phase::open(RecordSource& source) {
  opened_ = Clock::now();
  open_rails(source);
  open_ = true;
  setup_.engine->open_step(setup_.step, this);
}

Phase::~Phase() {
  // Also when memory ends in a phase: nothing may come to one that is gone.
  if (open_) setup_.engine->close_step(setup_.step);
}

void Phase::retire() {
  for (auto& flow : flows_) flow.reset();
  setup_.rows = nullptr;
}

bool Phase::finished(RailId rail, NodeId node) const {
  // One without bytes on this rail is finished before the one before it.
  return keeper_of_[rail.index()]->finished(node) &&
         (!setup_.before || setup_.before->finished(rail, node));
}

std::vector<NodeId> Phase::unfinished(RailId rail, NodeId node) const {
  const bool finished = !setup_.before || setup_.before->finished(rail, node);
  return finished ? keeper_of_[rail.index()]->unfinished(node)
                  : setup_.before->unfinished(rail, node);
}

std::vector<NodeId> Phase::late_nodes() const {
  const Topology& topology = setup_.engine->topology();
  std::vector<NodeId> late;
  for (int r = 0; r < topology.rails(); ++r) {
    if (keeper_of_[static_cast<std::size_t>(r)] == nullptr) continue;
    for (int n = 0; n < topology.nodes(); ++n) {
      for (const NodeId node : unfinished(RailId(r), NodeId(n))) late.push_back(node);
    }
  }
  return late;
}

bool Phase::nobody_late() const {
  const Topology& topology = setup_.engine->topology();
  for (int r = 0; r < topology.rails(); ++r) {
    if (keeper_of_[static_cast<std::size_t>(r)] == nullptr) continue;
    for (int n = 0; n < topology.nodes(); ++n) {
      if (!finished(RailId(r), NodeId(n))) return false;
    }
  }
  return true;
}

bool Phase::has_heard_of_before() const {
  return !setup_.before || streams_.outbound.empty() || setup_.before->nobody_late();
}

Result<bool> Phase::refresh_gates() {
  bool moved = false;
  if (setup_.before) {
    const Result<bool> changed = setup_.before->refresh_gates();
    if (!changed) return changed;
    moved = *changed;
    if (setup_.before->nobody_late()) setup_.before.reset();
  }
  for (GateKeeper& keeper : keepers_) {
    const Result<bool> changed = keeper.refresh();
    if (!changed) return changed;
    moved |= *changed;
  }
  return moved;
}

void Phase::note_prepacked() {
  if (prepacked_ || setup_.packing != Packing::Prepacked) return;
  prepacked_ = std::all_of(flows_.begin(), flows_.end(),
                           [](const auto& flow) { return !flow || flow->prepacked(); });
  if (prepacked_) prepack_s_ = seconds_since(opened_);
}

Result<bool> Phase::advance(const std::function<bool()>& read) {
  for (bool moved = true; moved;) {
    const Result<bool> changed = refresh_gates();
    if (!changed) return changed;
    moved = *changed;
    for (auto& flow : flows_) {
      if (!flow) continue;
      const Result<bool> pushed = flow->push();
      if (!pushed) return pushed;
      moved |= *pushed;
    }
  }
  note_prepacked();
  const bool all_read = read();
  const auto settled = [](const GateKeeper& keeper) { return keeper.settled(); };
  const auto done = [](const auto& flow) { return !flow || flow->done(); };
  if (!all_read || setup_.engine->unsent(setup_.step) > 0 ||
      !std::all_of(flows_.begin(), flows_.end(), done)) {
    return false;
  }
  if (!std::exchange(read_all_, true)) RAILWAVE_TRY(setup_.rows->finish_reading());
  return has_heard_of_before() && std::all_of(keepers_.begin(), keepers_.end(), settled) &&
         setup_.rows->released();
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
  if (ranks.empty() && !has_heard_of_before()) {
    for (const NodeId node : setup_.before->late_nodes()) {
      ranks.insert(setup_.engine->topology().first_rank(node).value);
    }
  }
  if (ranks.empty() && !setup_.rows->released()) {
    for (const RankId rank : setup_.rows->readers_left()) ranks.insert(rank.value);
  }
  return Error{
      ErrorCode::Timeout, ranks.empty() ? -1 : *ranks.begin(), what,
      fmt::format("step {}: {} not finished in time, waiting for ranks [{}], "
                  "{} frames not sent",
                  setup_.step, what, fmt::join(ranks, ", "), setup_.engine->unsent(setup_.step))};
}

void Phase::report(PhaseReport& out) const {
  const auto rails = flows_.size();
  out.sent_bytes.assign(rails, 0);
  out.received_bytes.assign(rails, 0);
  out.sent_records.assign(rails, 0);
  out.prepack_s = prepack_s_;
  for (const auto& flow : flows_) {
    if (flow) flow->report(out);
  }
}

std::span<std::byte> Phase::place(RailId rail, const FrameHeader& frame) {
  auto& flow = flows_[rail.index()];
  return flow ? flow->place(frame) : std::span<std::byte>();
}

void Phase::arrived(RailId rail, const FrameHeader& frame) {
  if (frame.kind == FrameKind::Received || frame.kind == FrameKind::Grant) {
    keeper_of_[rail.index()]->heard(rail, frame);
  } else if (auto& flow = flows_[rail.index()]) {
    flow->arrived(frame);
  }
}

void Phase::sent(RailId rail, std::uint64_t token) {
  setup_.slots->give_back(rail, static_cast<std::uint32_t>(token - 1));
}

}  // namespace railwave::exec
