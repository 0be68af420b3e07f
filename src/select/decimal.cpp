#include "select/decimal.hpp"

#include <algorithm>

namespace railwave::select {
namespace {

bool all_digits(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::int64_t value_of(std::string_view digits) {
  std::int64_t value = 0;
  for (const char c : digits) value = value * 10 + (c - '0');
  return value;
}

}  // namespace

std::optional<Decimal> Decimal::parse(std::string_view text) {
  const auto point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  const bool has_point = point != std::string_view::npos;
  const std::string_view places = has_point ? text.substr(point + 1) : std::string_view{};
  if (whole.empty() || whole.size() > kWholeDigits || !all_digits(whole)) return std::nullopt;
  if (whole.size() > 1 && whole.front() == '0') return std::nullopt;
  if (has_point && places.empty()) return std::nullopt;
  if (places.size() > kPlaces || !all_digits(places)) return std::nullopt;
  std::string padded(places);
  padded.resize(kPlaces, '0');
  Decimal out;
  out.millionths_ = value_of(whole) * kUnit + value_of(padded);
  out.text_ = text;
  return out;
}

Ratio Decimal::ratio() const { return reduced(millionths_, kUnit); }

}  // namespace railwave::select
