// Room for the frames that a rank has in flight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <railwave/ids.hpp>
#include <railwave/topology.hpp>

#include "exec/limits.hpp"
#include "exec/rank_engine.hpp"

namespace railwave::exec {

/// Bytes of the largest payload.
std::int64_t largest_frame(const Limits& limits);

/// What `rank` reserves for the frames that it sends on `rail`. REQUIRES: it drives the rail.
std::int64_t send_bytes(const Topology& topology, const Limits& limits, RankId rank, RailId rail);

/// Slots of each driven rail: made once per group, shared by the phases under way. A frame holds
/// its slot until the rail has sent it, whatever its receiver does, so that no phase waits for
/// another one's progress. Unless they are packed one by one (Packing::Pipelined), the frames of a
/// phase lie beside the slots, which only count them then. Threads: the engine's.
class SendSlots {
 public:
  SendSlots(const RankEngine& engine, const Limits& limits);
  [[nodiscard]] bool has_free(RailId rail) const { return !rails_[rail.index()].free.empty(); }
  /// REQUIRES: has_free(rail).
  [[nodiscard]] std::uint32_t take(RailId rail);
  void give_back(RailId rail, std::uint32_t slot) { rails_[rail.index()].free.push_back(slot); }
  /// The first `bytes` of a slot.
  [[nodiscard]] std::span<std::byte> of(RailId rail, std::uint32_t slot, std::int64_t bytes);
  /// Room for all frames that a phase sends on the rail. Empty with Packing::Pipelined.
  [[nodiscard]] std::span<std::byte> frames_of(RailId rail, std::uint64_t step);
  /// All that is reserved on this rank.
  [[nodiscard]] std::int64_t bytes() const;

 private:
  struct OfRail {
    std::vector<std::byte> bytes;
    std::vector<std::uint32_t> free;
    std::vector<std::byte> frames;  // of `phases` phases
  };
  std::int64_t slot_bytes_;
  std::uint64_t phases_;
  std::vector<OfRail> rails_;  // [R], empty where not driven
};

}  // namespace railwave::exec
