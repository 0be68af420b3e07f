// 128-bit integers and exact fractions of them that know when they overflow.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>

namespace railwave::plan {

__extension__ using Wide = unsigned __int128;

/// The product of the factors; absent when it leaves 128 bits. A factor of 0 makes it 0 whatever
/// the others are; without factors it is 1.
constexpr std::optional<Wide> product(std::initializer_list<Wide> factors) {
  for (const Wide factor : factors) {
    if (factor == 0) return Wide{0};
  }
  Wide out = 1;
  for (const Wide factor : factors) {
    if (__builtin_mul_overflow(out, factor, &out)) return std::nullopt;
  }
  return out;
}

/// The sum; absent when either is or it leaves 128 bits.
constexpr std::optional<Wide> sum(std::optional<Wide> a, std::optional<Wide> b) {
  Wide out = 0;
  if (!a || !b || __builtin_add_overflow(*a, *b, &out)) return std::nullopt;
  return out;
}

/// A non-negative fraction. Those that functions here return are in lowest terms.
struct Fraction {
  Wide num = 0;
  Wide den = 1;  ///< >= 1
  [[nodiscard]] double value() const;
  friend bool operator==(const Fraction&, const Fraction&) = default;
};

/// num / den in lowest terms. REQUIRES: den >= 1.
Fraction lowest(Wide num, Wide den);
/// The product; absent when it leaves 128 bits in lowest terms.
std::optional<Fraction> times(Fraction a, Fraction b);
/// a / b; absent when b is 0 or it leaves 128 bits in lowest terms.
std::optional<Fraction> over(Fraction a, Fraction b);
/// a < b, exactly and without overflow.
bool less(Fraction a, Fraction b);

/// The digits of an integer; "7/2" of a fraction that is none.
std::string decimal(Wide value);
std::string decimal(Fraction value);

}  // namespace railwave::plan
