// Decimal numbers of a file as what they say, not as the nearest double.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/descriptors.hpp"

namespace railwave::select {

/// An exact non-negative decimal: digits, then perhaps a point and 1 to 6 digits. It remembers how
/// it was written, so that a file comes back as it went. Threads: an immutable value.
class Decimal {
 public:
  static constexpr std::int64_t kUnit = 1'000'000;  ///< millionths in 1
  static constexpr int kWholeDigits = 12;           ///< at most, before the point
  static constexpr int kPlaces = 6;                 ///< at most, after it

  /// Zero.
  Decimal() = default;
  /// Absent for a sign, an exponent, a leading zero ("01"), a bare point or too many digits.
  static std::optional<Decimal> parse(std::string_view text);

  /// The value in millionths, below 10^18.
  [[nodiscard]] std::int64_t millionths() const { return millionths_; }
  /// In lowest terms.
  [[nodiscard]] Ratio ratio() const;
  /// As it was written.
  [[nodiscard]] const std::string& text() const { return text_; }
  friend bool operator==(const Decimal&, const Decimal&) = default;

 private:
  std::int64_t millionths_ = 0;
  std::string text_ = "0";
};

}  // namespace railwave::select
