// Room for the frames that a rank has in flight.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include <railwave/ids.hpp>

#include "exec/limits.hpp"
#include "exec/rank_engine.hpp"

namespace railwave::exec {

/// Bytes of one rail's send slots.
std::int64_t slots_bytes(const Limits& limits);

/// Slots of each driven rail: made once per group, shared by the phases under way. A frame holds
/// its slot until the rail has sent it, whatever its receiver does, so that no phase waits for
/// another one's progress. Threads: the engine's.
class SendSlots {
 public:
  SendSlots(const RankEngine& engine, const Limits& limits);
  [[nodiscard]] bool has_free(RailId rail) const { return !rails_[rail.index()].free.empty(); }
  /// REQUIRES: has_free(rail).
  [[nodiscard]] std::uint32_t take(RailId rail);
  void give_back(RailId rail, std::uint32_t slot) { rails_[rail.index()].free.push_back(slot); }
  /// The first `bytes` of a slot.
  [[nodiscard]] std::span<std::byte> of(RailId rail, std::uint32_t slot, std::int64_t bytes);
  /// All slots of a rank: driven rails x send_slots x the largest frame.
  [[nodiscard]] std::int64_t bytes() const;

 private:
  struct OfRail {
    std::vector<std::byte> bytes;
    std::vector<std::uint32_t> free;
  };
  std::int64_t slot_bytes_;
  std::vector<OfRail> rails_;  // [R], empty where not driven
};

}  // namespace railwave::exec
