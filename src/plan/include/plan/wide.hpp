// Long integers and exact fractions of them.
#pragma once

#include <optional>
#include <string>

#include <boost/multiprecision/cpp_int.hpp>

namespace railwave::plan {

/// No memory from the heap. What goes in must be short enough that nothing passes 8,192 bits.
using Wide = boost::multiprecision::number<
    boost::multiprecision::cpp_int_backend<8192, 8192, boost::multiprecision::signed_magnitude,
                                           boost::multiprecision::unchecked, void>,
    boost::multiprecision::et_off>;

/// A non-negative fraction. Those that functions here return are in lowest terms.
struct Fraction {
  Wide num = 0;
  Wide den = 1;                        ///< >= 1
  [[nodiscard]] double value() const;  ///< to within 2^-52 of it
  friend bool operator==(const Fraction&, const Fraction&) = default;
};

/// num / den in lowest terms. REQUIRES: num >= 0, den >= 1.
Fraction lowest(const Wide& num, const Wide& den);
Fraction times(const Fraction& a, const Fraction& b);
Fraction plus(const Fraction& a, const Fraction& b);
/// 1 - a. REQUIRES: a <= 1.
Fraction rest_of_one(const Fraction& a);
/// a / b; absent when b is 0.
std::optional<Fraction> over(const Fraction& a, const Fraction& b);
bool less(const Fraction& a, const Fraction& b);

/// The digits of an integer; "7/2" of a fraction that is none.
std::string decimal(const Wide& value);
std::string decimal(const Fraction& value);

}  // namespace railwave::plan
