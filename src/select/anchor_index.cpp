#include "anchor_index.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>
#include <tuple>

#include "base/checked.hpp"
#include "distance.hpp"

namespace railwave::select {
namespace {

constexpr int kDropped = kCoordinateBits - 28;
constexpr std::int64_t kSlack = 4;  // more than the errors of two coordinates and a reach together
constexpr std::int64_t kFarthest = std::int64_t{1} << 62;

/// 2^28 * (value - 1) / divisor, cut off at +-2^58.
std::int64_t shape_coordinate(const Ratio& value, const Ratio& divisor) {
  const Wide num = (static_cast<Wide>(value.num) - value.den) * divisor.den;
  const Wide scaled =
      num * (Wide{1} << kCoordinateBits) / (static_cast<Wide>(value.den) * divisor.num);
  return static_cast<std::int64_t>(std::clamp<Wide>(scaled, -kFarthest, kFarthest)) >> kDropped;
}

std::int64_t payload_coordinate(const Ratio& bytes) {
  return log2_estimate(static_cast<UWide>(bytes.num), static_cast<std::uint64_t>(bytes.den)) >>
         kDropped;
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

/// REQUIRES: |value| < 2^31.
constexpr std::int64_t square(std::int64_t value) { return value * value; }

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

  /// REQUIRES: an anchor whose payload is within reach.
  void visit(const Entry& entry) {
    // All are below 2^31: payloads by their reach, shapes as no cell is wider than four of theirs.
    const std::int64_t payload = std::abs(entry.at.payload - at_.payload);
    const std::int64_t skew = std::abs(entry.at.rail_skew - at_.rail_skew);
    const std::int64_t concentration =
        std::abs(entry.at.receiver_concentration - at_.receiver_concentration);
    const std::int64_t middle = square(payload) + square(skew) + square(concentration);
    // (gap + kSlack)^2 and (gap - kSlack)^2 lie at most so far from gap^2, summed up.
    const std::int64_t error = 2 * kSlack * (payload + skew + concentration) + 3 * kSlack * kSlack;
    // First what is true of most, so that a processor guesses right.
    if (middle - error > most_) return;
    const std::int64_t shape = std::max(skew, concentration);
    if (shape > index_.shape_reach_) return;
    if (!clearly_eligible(payload, shape) && !index_.neighbourhood(entry.anchor).contains(phase_)) {
      return;
    }
    if (middle + error >= least_ && !nearer(entry.anchor)) return;
    best_ = entry.anchor;
    least_ = middle - error;
    most_ = middle + error;
  }

  [[nodiscard]] int best() const { return best_; }

 private:
  /// Farther from every edge than rounding reaches; `shape` is the larger of both gaps.
  [[nodiscard]] bool clearly_eligible(std::int64_t payload, std::int64_t shape) const {
    return payload < index_.payload_reach_ - 3 * kSlack && shape < index_.shape_reach_ - 3 * kSlack;
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
  std::int64_t least_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t most_ = std::numeric_limits<std::int64_t>::max();
};

void AnchorIndex::Entries::sort() {
  std::sort(by_payload_.begin(), by_payload_.end(), [](const Entry& a, const Entry& b) {
    return std::tie(a.at.payload, a.anchor) < std::tie(b.at.payload, b.anchor);
  });
  const std::int64_t low = by_payload_.front().at.payload;
  const auto range = static_cast<std::uint64_t>(by_payload_.back().at.payload - low);
  while ((range >> step_bits_) >= by_payload_.size()) ++step_bits_;
  for (std::uint32_t i = 0; i < by_payload_.size(); ++i) {
    const auto step = static_cast<std::size_t>((by_payload_[i].at.payload - low) >> step_bits_);
    while (step_begin_.size() <= step) step_begin_.push_back(i);
  }
  step_begin_.push_back(static_cast<std::uint32_t>(by_payload_.size()));
}

const AnchorIndex::Entry* AnchorIndex::Entries::at_or_above(std::int64_t payload) const {
  if (payload <= begin()->at.payload) return begin();
  const auto step = static_cast<std::size_t>((payload - begin()->at.payload) >> step_bits_);
  if (step + 1 >= step_begin_.size()) return end();
  return std::lower_bound(
      begin() + step_begin_[step], begin() + step_begin_[step + 1], payload,
      [](const Entry& entry, std::int64_t value) { return entry.at.payload < value; });
}

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
  shape_reach_ =
      static_cast<std::int64_t>((radius << kCoordinateBits) / Decimal::kUnit >> kDropped) + kSlack;
  // At least as wide as a neighbourhood, so that one touches two cells in each direction at most.
  cell_bits_ = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(2 * shape_reach_)));
  for (std::size_t i = 0; i < table.anchors.size(); ++i) {
    neighbourhoods_.push_back(Neighbourhood::of(table.anchors[i].at, table, one_rail));
    insert(static_cast<int>(i));
  }
  for (auto& [cell, entries] : cells_) entries.sort();
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
      cells_[{skew, concentration}].add({x, anchor});
    }
  }
}

int AnchorIndex::nearest(const Descriptors& phase) const {
  const Coordinates x = coordinates(phase);
  const auto cell =
      cells_.find({x.rail_skew >> cell_bits_, x.receiver_concentration >> cell_bits_});
  if (cell == cells_.end()) return -1;
  const Entries& entries = cell->second;
  const Entry* middle = entries.at_or_above(x.payload);
  Search search(*this, phase, x);
  // One side after the other, not the nearer of both each time: a processor guesses better.
  for (const Entry* it = middle; it != entries.end() && search.reaches(it->at.payload - x.payload);
       ++it) {
    search.visit(*it);
  }
  for (const Entry* it = middle;
       it != entries.begin() && search.reaches(x.payload - (it - 1)->at.payload); --it) {
    search.visit(*(it - 1));
  }
  return search.best();
}

}  // namespace railwave::select
