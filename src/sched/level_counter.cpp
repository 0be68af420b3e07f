#include "sched/level_counter.hpp"

#include <algorithm>
#include <utility>

#include "base/checked.hpp"

namespace railwave::sched {

LevelCounter::LevelCounter(std::pmr::vector<std::int64_t> planned)
    : missing_(std::move(planned)), level_(level_at_first(missing_)) {}

int LevelCounter::level_at_first(std::span<const std::int64_t> planned) {
  const auto waits = [](std::int64_t bytes) { return bytes != 0; };
  return static_cast<int>(std::find_if(planned.begin(), planned.end(), waits) - planned.begin());
}

int LevelCounter::skip_received(int from) const {
  while (from < windows() && missing_[static_cast<std::size_t>(from)] == 0) ++from;
  return from;
}

void LevelCounter::arrived(int window, std::int64_t bytes) {
  std::int64_t& missing = missing_[static_cast<std::size_t>(window)];
  RAILWAVE_CHECK(bytes >= 0 && bytes <= missing, "window %d", window);
  missing -= bytes;
  level_ = skip_received(level_);
}

int LevelCounter::level_with_lead(std::int64_t lead) const {
  if (level_ == windows() || missing_[static_cast<std::size_t>(level_)] > lead) return level_;
  return skip_received(level_ + 1);
}

}  // namespace railwave::sched
