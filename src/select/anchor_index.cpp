#include "anchor_index.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <tuple>

#include "base/checked.hpp"
#include "distance.hpp"

namespace railwave::select {
namespace {

constexpr std::int64_t kSlack = 16;  // more than two coordinates' errors together
constexpr std::int64_t kFarthest = std::int64_t{1} << 62;

/// 2^32 * (value - 1) / divisor, cut off at +-2^62.
std::int64_t shape_coordinate(const Ratio& value, const Ratio& divisor) {
  const Wide num = (static_cast<Wide>(value.num) - value.den) * divisor.den;
  const Wide scaled =
      num * (Wide{1} << kCoordinateBits) / (static_cast<Wide>(value.den) * divisor.num);
  return static_cast<std::int64_t>(std::clamp<Wide>(scaled, -kFarthest, kFarthest));
}

std::int64_t payload_coordinate(const Ratio& bytes) {
  return log2_estimate(static_cast<UWide>(bytes.num), static_cast<std::uint64_t>(bytes.den));
}

Descriptors descriptors_of(const TrafficPoint& at, PayloadUnit unit) {
  Ratio payload = at.payload.ratio();
  // The unit is a power of two, the denominator divides 10^6: only twos can cancel.
  std::int64_t bytes = bytes_of(unit);
  while (payload.den % 2 == 0 && bytes > 1) {
    payload.den /= 2;
    bytes /= 2;
  }
  payload.num *= bytes;
  return {payload, at.rail_skew.ratio(), at.receiver_concentration.ratio(), 0};
}

UWide square(std::int64_t value) {
  const Wide wide = value;
  return static_cast<UWide>(wide * wide);
}

/// The exact squared distance of two points with these gaps between their coordinates, in units of
/// 2^-64, is at least that with -kSlack and at most that with kSlack.
UWide squared_distance(const Coordinates& gap, std::int64_t slack) {
  UWide out = 0;
  for (const std::int64_t size : {gap.payload, gap.rail_skew, gap.receiver_concentration}) {
    out += square(std::max<std::int64_t>(size + slack, 0));
  }
  return out;
}

}  // namespace

/// The best anchor so far on the way through one cell.
class AnchorIndex::Search {
 public:
  Search(const AnchorIndex& index, const Descriptors& phase, const Coordinates& at)
      : index_(index), phase_(phase), at_(at) {}

  /// Whether an anchor whose payload lies `gap` away may still be the answer.
  [[nodiscard]] bool reaches(std::int64_t gap) const {
    if (gap > index_.payload_reach_) return false;
    return gap <= kSlack || square(gap - kSlack) <= most_;
  }

  void visit(const Entry& entry) {
    const Coordinates gap{std::abs(entry.at.payload - at_.payload),
                          std::abs(entry.at.rail_skew - at_.rail_skew),
                          std::abs(entry.at.receiver_concentration - at_.receiver_concentration)};
    // First what is true of most, so that a processor guesses right.
    const UWide least = squared_distance(gap, -kSlack);
    if (least > most_) return;
    if (std::max(gap.rail_skew, gap.receiver_concentration) > index_.shape_reach_) return;
    if (!clearly_eligible(gap) && !index_.neighbourhood(entry.anchor).contains(phase_)) return;
    const UWide most = squared_distance(gap, kSlack);
    if (most >= least_ && !nearer(entry.anchor)) return;
    best_ = entry.anchor;
    least_ = least;
    most_ = most;
  }

  [[nodiscard]] int best() const { return best_; }

 private:
  /// Farther from every edge than rounding reaches.
  [[nodiscard]] bool clearly_eligible(const Coordinates& gap) const {
    return gap.payload < index_.payload_reach_ - 3 * kSlack &&
           std::max(gap.rail_skew, gap.receiver_concentration) < index_.shape_reach_ - 3 * kSlack;
  }

  [[nodiscard]] bool nearer(int anchor) const {
    const auto& anchors = index_.table_.anchors;
    const auto order = Distances(index_.table_, phase_, index_.one_rail_)
                           .compare(anchors[static_cast<std::size_t>(anchor)],
                                    anchors[static_cast<std::size_t>(best_)]);
    return order < 0 || (order == 0 && anchor < best_);
  }

  const AnchorIndex& index_;
  const Descriptors& phase_;
  const Coordinates& at_;
  int best_ = -1;
  // Between which the best one's squared distance lies; beyond all others before there is one.
  UWide least_ = ~UWide{0};
  UWide most_ = ~UWide{0};
};

std::size_t AnchorIndex::CellHash::operator()(const Cell& cell) const {
  const auto mix = static_cast<std::uint64_t>(cell.rail_skew) * 0x9e3779b97f4a7c15U +
                   static_cast<std::uint64_t>(cell.receiver_concentration);
  return static_cast<std::size_t>((mix * 0xff51afd7ed558ccdU) >> 16);
}

AnchorIndex::AnchorIndex(const CostTable& table, bool one_rail)
    : table_(table),
      one_rail_(one_rail),
      rail_skew_divisor_(table.scales.rail_skew_divisor.ratio()),
      concentration_divisor_(table.scales.receiver_concentration_divisor.ratio()) {
  payload_reach_ = payload_coordinate(table.scales.payload_factor.ratio()) + kSlack;
  const UWide radius = static_cast<UWide>(table.scales.shape_radius.millionths());
  shape_reach_ = static_cast<std::int64_t>((radius << kCoordinateBits) / Decimal::kUnit) + kSlack;
  // At least as wide as a neighbourhood, so that one touches two cells in each direction at most.
  cell_bits_ = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(2 * shape_reach_)));
  for (std::size_t i = 0; i < table.anchors.size(); ++i) {
    neighbourhoods_.push_back(Neighbourhood::of(table.anchors[i].at, table, one_rail));
    insert(static_cast<int>(i));
  }
  for (auto& [cell, entries] : cells_) {
    std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return std::tie(a.at.payload, a.anchor) < std::tie(b.at.payload, b.anchor);
    });
  }
}

Coordinates AnchorIndex::coordinates(const Descriptors& phase) const {
  return {payload_coordinate(phase.payload),
          one_rail_ ? 0 : shape_coordinate(*phase.rail_skew, rail_skew_divisor_),
          shape_coordinate(*phase.receiver_concentration, concentration_divisor_)};
}

void AnchorIndex::insert(int anchor) {
  const TrafficPoint& at = table_.anchors[static_cast<std::size_t>(anchor)].at;
  const Coordinates x = coordinates(descriptors_of(at, table_.unit));
  const auto first = [&](std::int64_t value) { return (value - shape_reach_) >> cell_bits_; };
  const auto last = [&](std::int64_t value) { return (value + shape_reach_) >> cell_bits_; };
  for (auto skew = first(x.rail_skew); skew <= last(x.rail_skew); ++skew) {
    for (auto concentration = first(x.receiver_concentration);
         concentration <= last(x.receiver_concentration); ++concentration) {
      cells_[{skew, concentration}].push_back({x, anchor});
    }
  }
}

int AnchorIndex::nearest(const Descriptors& phase) const {
  const Coordinates x = coordinates(phase);
  const auto cell =
      cells_.find({x.rail_skew >> cell_bits_, x.receiver_concentration >> cell_bits_});
  if (cell == cells_.end()) return -1;
  const std::vector<Entry>& entries = cell->second;
  const auto middle =
      std::lower_bound(entries.begin(), entries.end(), x.payload,
                       [](const Entry& e, std::int64_t payload) { return e.at.payload < payload; });
  Search search(*this, phase, x);
  // One side after the other, not the nearer of both each time: a processor guesses better.
  for (auto it = middle; it != entries.end() && search.reaches(it->at.payload - x.payload); ++it) {
    search.visit(*it);
  }
  for (auto it = middle; it != entries.begin() && search.reaches(x.payload - (it - 1)->at.payload);
       --it) {
    search.visit(*(it - 1));
  }
  return search.best();
}

}  // namespace railwave::select
