#include "log2_fixed.hpp"

#include <array>
#include <bit>

namespace railwave::select {
namespace {

constexpr int kMantissaBits = 62;
constexpr int kSteps = 128;  // from 1 to 2

/// The middle of a step between 1 and 2: its reciprocal times 2^62 and its logarithm times 2^32.
struct Step {
  std::uint64_t reciprocal = 0;
  std::int64_t log2 = 0;
};

constexpr std::array<Step, kSteps> steps() {
  std::array<Step, kSteps> out{};
  for (std::uint64_t i = 0; i < kSteps; ++i) {
    const std::uint64_t middle =
        (std::uint64_t{1} << kMantissaBits) / (2 * kSteps) * (2 * kSteps + 2 * i + 1);
    out[i] = {static_cast<std::uint64_t>((UWide{1} << (2 * kMantissaBits)) / middle),
              log2_of_mantissa(middle)};
  }
  return out;
}
constexpr std::array<Step, kSteps> kStep = steps();

constexpr std::int64_t times(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>((static_cast<Wide>(a) * b) >> kMantissaBits);
}

/// log2(m) = log2(middle) + ln(1 + e) / ln 2 with m = middle * (1 + e), |e| <= 2^-8: four terms of
/// the series leave less than 2^-42.
std::int64_t estimate_of_mantissa(std::uint64_t mantissa) {
  constexpr std::int64_t kOneOverLn2 = 6653256548922161246;  // times 2^62
  const Step& step = kStep[(mantissa >> (kMantissaBits - 7)) - kSteps];
  const auto quotient =
      static_cast<std::int64_t>((static_cast<UWide>(mantissa) * step.reciprocal) >> kMantissaBits);
  const std::int64_t e = quotient - (std::int64_t{1} << kMantissaBits);
  const std::int64_t e2 = times(e, e);
  const std::int64_t ln = e - e2 / 2 + times(e2, e) / 3 - times(e2, e2) / 4;
  return step.log2 + (times(ln, kOneOverLn2) >> (kMantissaBits - kCoordinateBits));
}

int bits_of(std::uint64_t value) { return static_cast<int>(std::bit_width(value)); }

int bits_of(UWide value) {
  const auto high = static_cast<std::uint64_t>(value >> 64);
  return high != 0 ? 64 + bits_of(high) : bits_of(static_cast<std::uint64_t>(value));
}

}  // namespace

std::int64_t log2_estimate(UWide num, std::uint64_t den) {
  int exponent = bits_of(num) - bits_of(den);
  const bool below =
      exponent >= 0 ? num < (static_cast<UWide>(den) << exponent) : (num << -exponent) < den;
  if (below) --exponent;
  const auto mantissa = static_cast<std::uint64_t>((num << (kMantissaBits - exponent)) / den);
  return static_cast<std::int64_t>(exponent) * (std::int64_t{1} << kCoordinateBits) +
         estimate_of_mantissa(mantissa);
}

}  // namespace railwave::select
