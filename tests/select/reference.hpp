// The definition of eq. 11-12 with exact rationals, anchor by anchor. Shares no code with
// src/select but the types of its interface.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include <boost/multiprecision/cpp_int.hpp>

#include "select/selector.hpp"

namespace railwave::select::reference {

using Rational = boost::multiprecision::cpp_rational;

inline Rational exact(const Ratio& value) { return Rational(value.num, value.den); }
inline Rational exact(const Decimal& value) {
  Rational out = 0;
  Rational place = 1;
  bool after = false;
  for (const char c : value.text()) {
    if (c == '.') {
      after = true;
    } else if (after) {
      place /= 10;
      out += place * (c - '0');
    } else {
      out = out * 10 + (c - '0');
    }
  }
  return out;
}
inline Rational magnitude(const Rational& value) { return value < 0 ? Rational(-value) : value; }
inline Rational bytes(const TrafficPoint& at, PayloadUnit unit) {
  return exact(at.payload) * (unit == PayloadUnit::MiB ? 1048576 : 1);
}

/// One phase against one table on a cluster of `rails` rails.
class View {
 public:
  View(const CostTable& table, const Descriptors& phase, int rails)
      : table_(table), phase_(phase), rails_(rails) {}

  [[nodiscard]] bool eligible(const Anchor& anchor) const {
    const Rational factor = exact(table_.scales.payload_factor);
    const Rational here = exact(phase_.payload);
    const Rational there = bytes(anchor.at, table_.unit);
    const Rational radius = exact(table_.scales.shape_radius);
    return here <= factor * there && there <= factor * here && skew(anchor) <= radius &&
           concentration(anchor) <= radius;
  }

  enum class Order { Nearer, Same, Farther, TooCloseToSay };
  /// Exact where the logarithms are the same; else to 10^-8.
  [[nodiscard]] Order compare(const Anchor& a, const Anchor& b) const {
    const Rational shape = shape_square(a) - shape_square(b);
    if (payload_ratio(a) == payload_ratio(b)) {
      return shape < 0 ? Order::Nearer : shape > 0 ? Order::Farther : Order::Same;
    }
    const long double difference = log_square(a) - log_square(b) + shape.convert_to<long double>();
    if (std::fabs(difference) < 1e-8L) return Order::TooCloseToSay;
    return difference < 0 ? Order::Nearer : Order::Farther;
  }

  /// Whether the answer is the one of the definition.
  [[nodiscard]] bool right(const Selection& answer) const {
    if (phase_.payload.num == 0) return answer == Selection{Path::Native, Cause::NoRemoteBytes, -1};
    std::vector<int> in_reach;
    for (std::size_t i = 0; i < table_.anchors.size(); ++i) {
      if (eligible(table_.anchors[i])) in_reach.push_back(static_cast<int>(i));
    }
    if (in_reach.empty()) return answer == Selection{Path::Joint, Cause::NoAnchor, -1};
    if (std::find(in_reach.begin(), in_reach.end(), answer.anchor) == in_reach.end()) return false;
    const Anchor& won = table_.anchors[static_cast<std::size_t>(answer.anchor)];
    if (answer.path != won.path || answer.cause != Cause::NearestAnchor) return false;
    return std::all_of(in_reach.begin(), in_reach.end(), [&](int other) {
      const Order order = compare(won, table_.anchors[static_cast<std::size_t>(other)]);
      return order == Order::Nearer || order == Order::TooCloseToSay ||
             (order == Order::Same && answer.anchor <= other);
    });
  }

 private:
  [[nodiscard]] Rational skew(const Anchor& anchor) const {
    if (rails_ == 1) return 0;
    return magnitude(exact(*phase_.rail_skew) - exact(anchor.at.rail_skew)) /
           exact(table_.scales.rail_skew_divisor);
  }
  [[nodiscard]] Rational concentration(const Anchor& anchor) const {
    return magnitude(exact(*phase_.receiver_concentration) -
                     exact(anchor.at.receiver_concentration)) /
           exact(table_.scales.receiver_concentration_divisor);
  }
  [[nodiscard]] Rational shape_square(const Anchor& anchor) const {
    return skew(anchor) * skew(anchor) + concentration(anchor) * concentration(anchor);
  }
  /// The larger payload over the smaller.
  [[nodiscard]] Rational payload_ratio(const Anchor& anchor) const {
    const Rational ratio = exact(phase_.payload) / bytes(anchor.at, table_.unit);
    return ratio < 1 ? Rational(1 / ratio) : ratio;
  }
  [[nodiscard]] long double log_square(const Anchor& anchor) const {
    const long double x = std::log2(payload_ratio(anchor).convert_to<long double>());
    return x * x;
  }

  const CostTable& table_;
  const Descriptors& phase_;
  int rails_;
};

}  // namespace railwave::select::reference
