#include "exact_number.hpp"

#include <charconv>
#include <cstdint>
#include <string>

namespace railwave::cli {
namespace {

constexpr std::size_t kMostDigits = 18;  // 10^18 is below 2^63

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::optional<std::int64_t> whole(std::string_view digits) {
  std::int64_t value = 0;
  if (!all_digits(digits)) return std::nullopt;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return code == std::errc{} ? std::optional(value) : std::nullopt;
}

std::optional<Ratio> lowest(std::optional<std::int64_t> num, std::optional<std::int64_t> den) {
  if (!num || !den || *den == 0) return std::nullopt;
  return reduced(*num, *den);
}

}  // namespace

std::optional<Ratio> exact_number(std::string_view text) {
  if (const auto slash = text.find('/'); slash != std::string_view::npos) {
    return lowest(whole(text.substr(0, slash)), whole(text.substr(slash + 1)));
  }
  const auto point = text.find('.');
  if (point == std::string_view::npos) return lowest(whole(text), 1);
  const std::string_view before = text.substr(0, point);
  std::string_view after = text.substr(point + 1);
  if (!all_digits(before) || !all_digits(after)) return std::nullopt;
  while (!after.empty() && after.back() == '0') after.remove_suffix(1);
  if (after.size() > kMostDigits) return std::nullopt;
  return lowest(whole(std::string(before) + std::string(after)),
                whole("1" + std::string(after.size(), '0')));
}

}  // namespace railwave::cli
