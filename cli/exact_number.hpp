// Decimals and fractions on the command line as what they say, not as the nearest double.
#pragma once

#include <optional>
#include <string_view>

#include "model/descriptors.hpp"

namespace railwave::cli {

/// What exact_number() reads, for messages about a text that it does not.
constexpr const char* kExactNumber =
    "a decimal of at most 18 digits like 1.4, or a fraction like 4/3";

/// "1.0399006211180124" or "4/3", in lowest terms; never negative. Absent for a sign, an exponent,
/// a bare point, and for more digits, zeros at either end aside, than 64 bits hold.
std::optional<Ratio> exact_number(std::string_view text);

}  // namespace railwave::cli
