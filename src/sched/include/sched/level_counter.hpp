// How far a receiver has come through the windows of a phase. Windows and bytes, never payload.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

namespace railwave::sched {

/// Counts down the planned bytes of each window of one receiver. Its *level* is the number of
/// leading windows that are received; windows without planned bytes are received at once.
class LevelCounter {
 public:
  /// planned[w]: bytes that will arrive in window w.
  explicit LevelCounter(std::pmr::vector<std::int64_t> planned);
  /// `bytes` of window `window` have arrived. REQUIRES: not more than planned.
  void arrived(int window, std::int64_t bytes);
  /// Leading windows whose planned bytes have all arrived.
  [[nodiscard]] int level() const { return level_; }
  /// The level `lead` bytes early: the first unfinished window counts as received when at most
  /// `lead` of its bytes are missing. lead = 0 is level().
  [[nodiscard]] int level_with_lead(std::int64_t lead) const;
  [[nodiscard]] int windows() const { return static_cast<int>(missing_.size()); }
  /// level() of who has received nothing: the leading windows without planned bytes.
  static int level_at_first(std::span<const std::int64_t> planned);

 private:
  [[nodiscard]] int skip_received(int from) const;
  std::pmr::vector<std::int64_t> missing_;
  int level_ = 0;
};

}  // namespace railwave::sched
