#include "plan/wide.hpp"

#include <algorithm>
#include <utility>

#include "base/checked.hpp"

namespace railwave::plan {
namespace {

Wide common_divisor(Wide a, Wide b) {
  while (b != 0) a = std::exchange(b, a % b);
  return a;
}

}  // namespace

double Fraction::value() const { return static_cast<double>(num) / static_cast<double>(den); }

Fraction lowest(Wide num, Wide den) {
  RAILWAVE_CHECK(den != 0);
  const Wide divisor = common_divisor(num, den);
  return {num / divisor, den / divisor};
}

std::optional<Fraction> times(Fraction a, Fraction b) {
  // Crosswise first: what is left has no divisor in common, so only a true overflow remains.
  const Fraction own_a = lowest(a.num, a.den);
  const Fraction own_b = lowest(b.num, b.den);
  const Fraction left = lowest(own_a.num, own_b.den);
  const Fraction right = lowest(own_b.num, own_a.den);
  const auto num = product({left.num, right.num});
  const auto den = product({left.den, right.den});
  if (!num || !den) return std::nullopt;
  return Fraction{*num, *den};
}

std::optional<Fraction> over(Fraction a, Fraction b) {
  if (b.num == 0) return std::nullopt;
  return times(a, {b.den, b.num});
}

bool less(Fraction a, Fraction b) {
  // Whole parts differ sooner or later, or one remainder ends: Euclid, with nothing multiplied.
  for (;;) {
    const Wide whole_a = a.num / a.den;
    const Wide whole_b = b.num / b.den;
    if (whole_a != whole_b) return whole_a < whole_b;
    const Wide rest_a = a.num % a.den;
    const Wide rest_b = b.num % b.den;
    if (rest_a == 0 || rest_b == 0) return rest_a == 0 && rest_b != 0;
    // rest_a / a.den < rest_b / b.den exactly when b.den / rest_b < a.den / rest_a.
    const Fraction inverse_a{a.den, rest_a};
    a = {b.den, rest_b};
    b = inverse_a;
  }
}

std::string decimal(Wide value) {
  std::string digits;
  do {
    digits += static_cast<char>('0' + static_cast<int>(value % 10));
    value /= 10;
  } while (value != 0);
  std::ranges::reverse(digits);
  return digits;
}

std::string decimal(Fraction value) {
  return value.den == 1 ? decimal(value.num) : decimal(value.num) + '/' + decimal(value.den);
}

}  // namespace railwave::plan
