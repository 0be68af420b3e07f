#include "exec/send_slots.hpp"

#include <algorithm>

#include "exec/record.hpp"
#include "exec/segment_map.hpp"

namespace railwave::exec {

std::int64_t largest_frame(const Limits& limits) {
  return std::max(limits.chunk_bytes, limits.max_row_bytes + record_meta_bytes(limits.max_top_k));
}

namespace {

std::int64_t slots_bytes(const Limits& limits) { return largest_frame(limits) * limits.send_slots; }

std::int64_t frames_bytes(const Topology& topology, const Limits& limits, RankId rank,
                          RailId rail) {
  if (limits.packing == Packing::Pipelined) return 0;
  return limits.phases * most_sent_bytes(topology, limits, rank, rail);
}

}  // namespace

std::int64_t send_bytes(const Topology& topology, const Limits& limits, RankId rank, RailId rail) {
  return slots_bytes(limits) + frames_bytes(topology, limits, rank, rail);
}

SendSlots::SendSlots(const RankEngine& engine, const Limits& limits)
    : slot_bytes_(largest_frame(limits)),
      phases_(static_cast<std::uint64_t>(limits.phases)),
      rails_(static_cast<std::size_t>(engine.topology().rails())) {
  for (std::size_t r = 0; r < rails_.size(); ++r) {
    if (!engine.drives(RailId(r))) continue;
    rails_[r].bytes.resize(static_cast<std::size_t>(slots_bytes(limits)));
    rails_[r].frames.resize(static_cast<std::size_t>(
        frames_bytes(engine.topology(), limits, engine.self(), RailId(r))));
    for (auto slot = static_cast<std::uint32_t>(limits.send_slots); slot > 0; --slot) {
      rails_[r].free.push_back(slot - 1);
    }
  }
}

std::uint32_t SendSlots::take(RailId rail) {
  std::vector<std::uint32_t>& free = rails_[rail.index()].free;
  const std::uint32_t slot = free.back();
  free.pop_back();
  return slot;
}

std::span<std::byte> SendSlots::of(RailId rail, std::uint32_t slot, std::int64_t bytes) {
  return std::span(rails_[rail.index()].bytes)
      .subspan(slot * static_cast<std::size_t>(slot_bytes_), static_cast<std::size_t>(bytes));
}

std::span<std::byte> SendSlots::frames_of(RailId rail, std::uint64_t step) {
  const std::span<std::byte> all(rails_[rail.index()].frames);
  const std::size_t one = all.size() / phases_;
  return all.subspan(step % phases_ * one, one);
}

std::int64_t SendSlots::bytes() const {
  std::int64_t total = 0;
  for (const OfRail& rail : rails_) {
    total += static_cast<std::int64_t>(rail.bytes.size() + rail.frames.size());
  }
  return total;
}

}  // namespace railwave::exec
