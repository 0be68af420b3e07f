#include "slice_check.hpp"

#include <algorithm>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "base/checked.hpp"

namespace railwave::plan {
namespace {

bool by_record(const Segment& a, const Segment& b) {
  return std::tie(a.home, a.first) < std::tie(b.home, b.first);
}

class SliceCheck {
 public:
  SliceCheck(const RecordedPlan& plan, const RecordedSlice& slice, Findings& findings)
      : plan_(plan),
        slice_(slice),
        findings_(findings),
        rails_(static_cast<std::size_t>(plan.topology.rails())) {}

  void run() {
    if (!in_range()) return;
    if (!std::is_sorted(slice_.segments.begin(), slice_.segments.end(), by_record)) {
      add(Fault::OutOfOrder, "segments do not ascend by (home rail, first record)");
    }
    check_records();
    const auto taken = check_slots();
    check_loads(taken);
    for (const Segment& segment : slice_.segments) check_rail(segment);
    if (balances(plan_.path)) check_quotas(taken);
    for (const Segment& segment : slice_.segments) check_stay(segment, taken);
  }

 private:
  void add(Fault fault, const std::string& what) {
    findings_.add(fault, fmt::format("slice ({}, {}): {}", slice_.pair.source.value,
                                     slice_.pair.destination.value, what));
  }

  [[nodiscard]] std::int64_t homed(RailId rail) const {
    return plan_.counts.at(slice_.pair.source, rail, slice_.pair.destination);
  }

  [[nodiscard]] bool is_rail(RailId rail) const { return rail.value >= 0 && rail.index() < rails_; }

  /// Nothing that the other checks could not add up.
  bool in_range() {
    bool good = true;
    const auto reject = [&](const std::string& what) {
      add(Fault::OutOfRange, what);
      good = false;
    };
    for (const Segment& s : slice_.segments) {
      if (!is_rail(s.home) || !is_rail(s.rail)) {
        reject(fmt::format("a segment from rail {} to rail {}", s.home.value, s.rail.value));
      } else if (s.first < 0 || s.slot < 0 || s.count < 1 || !checked_add(s.first, s.count) ||
                 !checked_add(s.slot, s.count)) {
        reject(fmt::format("home rail {}: a segment of {} records from {} at slot {}", s.home.value,
                           s.count, s.first, s.slot));
      }
    }
    for (const RecordedSend& send : slice_.sends) {
      if (send.loads.size() != rails_) {
        reject(fmt::format("window {}: {} loads for {} rails", send.window, send.loads.size(),
                           rails_));
      } else if (std::any_of(send.loads.begin(), send.loads.end(), [](auto l) { return l < 0; })) {
        reject(fmt::format("window {}: a load below 0", send.window));
      }
    }
    return good;
  }

  /// Walks [first, first + count) ranges in ascending order and reports holes and overlaps.
  struct Walk {
    std::int64_t next = 0;
    Fault hole;
    Fault overlap;
    const char* unit;
  };

  void step(Walk& walk, std::int64_t first, std::int64_t count, RailId rail) {
    if (first > walk.next) gap(walk, first, rail);
    if (first < walk.next) {
      add(walk.overlap, fmt::format("{} {}: {} {} is there twice", walk_side(walk), rail.value,
                                    walk.unit, first));
    }
    walk.next = std::max(walk.next, first + count);
  }

  void gap(const Walk& walk, std::int64_t until, RailId rail) {
    add(walk.hole, fmt::format("{} {}: {}s {} to {} are missing", walk_side(walk), rail.value,
                               walk.unit, walk.next, until - 1));
  }

  static const char* walk_side(const Walk& walk) {
    return walk.hole == Fault::RecordMissing ? "home rail" : "rail";
  }

  void check_records() {
    auto segments = slice_.segments;
    std::sort(segments.begin(), segments.end(), by_record);
    auto at = segments.begin();
    for (RailId home(0); home.index() < rails_; ++home.value) {
      Walk walk{0, Fault::RecordMissing, Fault::RecordTwice, "record"};
      for (; at != segments.end() && at->home == home; ++at) {
        step(walk, at->first, at->count, home);
      }
      if (walk.next < homed(home)) gap(walk, homed(home), home);
      if (walk.next > homed(home)) {
        add(Fault::RecordUnknown,
            fmt::format("home rail {}: record {} of {}", home.value, walk.next - 1, homed(home)));
      }
    }
  }

  /// How many slots of each rail are taken, [R], holes included.
  std::vector<std::int64_t> check_slots() {
    auto segments = slice_.segments;
    std::sort(segments.begin(), segments.end(), [](const Segment& a, const Segment& b) {
      return std::tie(a.rail, a.slot) < std::tie(b.rail, b.slot);
    });
    std::vector<std::int64_t> taken(rails_, 0);
    auto at = segments.begin();
    for (RailId rail(0); rail.index() < rails_; ++rail.value) {
      Walk walk{0, Fault::SlotGap, Fault::SlotTwice, "slot"};
      for (; at != segments.end() && at->rail == rail; ++at) {
        step(walk, at->slot, at->count, rail);
      }
      taken[rail.index()] = walk.next;
    }
    return taken;
  }

  void check_loads(const std::vector<std::int64_t>& taken) {
    for (std::size_t r = 0; r < rails_; ++r) {
      std::optional<std::int64_t> sum = 0;
      for (const RecordedSend& send : slice_.sends) {
        if (sum) sum = checked_add(*sum, send.loads[r]);
      }
      if (sum && *sum == taken[r]) continue;
      add(Fault::LoadMismatch, fmt::format("rail {}: its windows carry {} records, its slots {}", r,
                                           sum ? fmt::format("{}", *sum) : "too many", taken[r]));
    }
  }

  [[nodiscard]] bool eligible(RailId rail) const {
    const auto rails = plan_.topology.eligible(slice_.pair.source, slice_.pair.destination);
    return std::binary_search(rails.begin(), rails.end(), rail);
  }

  void check_rail(const Segment& segment) {
    if (eligible(segment.rail)) return;
    add(Fault::IneligibleRail, fmt::format("{} records of home rail {} on rail {}, which is down",
                                           segment.count, segment.home.value, segment.rail.value));
  }

  void check_quotas(const std::vector<std::int64_t>& taken) {
    const NodePair pair = slice_.pair;
    const std::int64_t records = plan_.counts.slice(pair.source, pair.destination);
    std::int64_t weights = 0;
    const auto rails = plan_.topology.eligible(pair.source, pair.destination);
    for (const RailId rail : rails) weights += plan_.topology.weight(pair, rail);
    for (const RailId rail : rails) {
      const auto off = static_cast<__int128>(taken[rail.index()]) * weights -
                       static_cast<__int128>(records) * plan_.topology.weight(pair, rail);
      if (-weights < off && off < weights) continue;
      add(Fault::UnevenQuota,
          fmt::format("rail {}: {} of {} records, its weight is {} of {}", rail.value,
                      taken[rail.index()], records, plan_.topology.weight(pair, rail), weights));
    }
  }

  void check_stay(const Segment& segment, const std::vector<std::int64_t>& taken) {
    if (plan_.path == Path::Spray || segment.home == segment.rail) return;
    std::int64_t stays = eligible(segment.home) ? homed(segment.home) : 0;
    if (balances(plan_.path)) stays = std::min(stays, taken[segment.home.index()]);
    if (segment.first >= stays) return;
    add(Fault::MovedNeedlessly,
        fmt::format("home rail {}: record {} goes by rail {}, but {} stay", segment.home.value,
                    segment.first, segment.rail.value, stays));
  }

  const RecordedPlan& plan_;
  const RecordedSlice& slice_;
  Findings& findings_;
  std::size_t rails_;
};

}  // namespace

void check_slice(const RecordedPlan& plan, const RecordedSlice& slice, Findings& findings) {
  SliceCheck(plan, slice, findings).run();
}

}  // namespace railwave::plan
