#include "segments.hpp"

#include <algorithm>

namespace railwave::plan {

void append(std::pmr::vector<Segment>& segments, const Segment& next) {
  if (next.count == 0) return;
  if (!segments.empty()) {
    Segment& last = segments.back();
    if (last.home == next.home && last.rail == next.rail && last.first + last.count == next.first &&
        last.slot + last.count == next.slot) {
      last.count += next.count;
      return;
    }
  }
  segments.push_back(next);
}

SliceAssignment assembled(std::pmr::vector<Segment> by_home, std::pmr::vector<std::int64_t> load) {
  std::pmr::vector<Segment> by_rail(by_home, by_home.get_allocator());
  std::sort(by_rail.begin(), by_rail.end(), [](const Segment& a, const Segment& b) {
    return a.rail != b.rail ? a.rail < b.rail : a.slot < b.slot;
  });
  return SliceAssignment{std::move(by_home), std::move(by_rail), std::move(load)};
}

}  // namespace railwave::plan
