#include "plan/wide.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/checked.hpp"

namespace railwave::plan {

double Fraction::value() const {
  if (num == 0) return 0;
  // A quotient of 64 bits or one more: the parts themselves may be beyond any double.
  const int shift = 64 - (static_cast<int>(msb(num)) - static_cast<int>(msb(den)));
  const Wide quotient = shift > 0 ? (num << shift) / den : num / (den << -shift);
  return std::ldexp(static_cast<double>(quotient), -shift);
}

Fraction lowest(const Wide& num, const Wide& den) {
  RAILWAVE_CHECK(den > 0);
  const Wide divisor = gcd(num, den);
  return {num / divisor, den / divisor};
}

Fraction times(const Fraction& a, const Fraction& b) {
  return lowest(a.num * b.num, a.den * b.den);
}

Fraction plus(const Fraction& a, const Fraction& b) {
  return lowest(a.num * b.den + b.num * a.den, a.den * b.den);
}

Fraction rest_of_one(const Fraction& a) { return lowest(a.den - a.num, a.den); }

std::optional<Fraction> over(const Fraction& a, const Fraction& b) {
  if (b.num == 0) return std::nullopt;
  return times(a, {b.den, b.num});
}

bool less(const Fraction& a, const Fraction& b) { return a.num * b.den < b.num * a.den; }

std::string decimal(const Wide& value) {
  std::string digits;
  for (Wide rest = value; rest != 0 || digits.empty(); rest /= 10) {
    digits += static_cast<char>('0' + static_cast<int>(rest % 10));
  }
  std::ranges::reverse(digits);
  return digits;
}

std::string decimal(const Fraction& value) {
  if (value.den == 1) return decimal(value.num);
  return fmt::format("{}/{}", decimal(value.num), decimal(value.den));
}

}  // namespace railwave::plan
