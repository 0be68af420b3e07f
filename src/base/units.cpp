#include "base/units.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/fail.hpp"

namespace railwave {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array<Unit, 8> kSizes{{{"", 1},
                                      {"b", 1},
                                      {"kb", 1024.0},
                                      {"mb", 1024.0 * 1024},
                                      {"gb", 1024.0 * 1024 * 1024},
                                      {"kib", 1024.0},
                                      {"mib", 1024.0 * 1024},
                                      {"gib", 1024.0 * 1024 * 1024}}};
constexpr std::array<Unit, 4> kRates{{{"bit", 1}, {"kbit", 1e3}, {"mbit", 1e6}, {"gbit", 1e9}}};

template <std::size_t n>
Result<std::int64_t> parse(std::string_view text, const std::array<Unit, n>& units,
                           std::string_view field, std::string_view example) {
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string unit(end, text.data() + text.size());
  std::transform(unit.begin(), unit.end(), unit.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto found =
      std::find_if(units.begin(), units.end(), [&](const Unit& u) { return u.name == unit; });
  if (code == std::errc{} && found != units.end() && number >= 0) {
    const double value = number * found->factor;
    if (value < 9e18) return static_cast<std::int64_t>(std::llround(value));
  }
  return fail(ErrorCode::InvalidArgument, std::string(field),
              fmt::format("'{}' is not understood; write it like {}", text, example));
}

template <std::size_t n>
std::string scaled(double value, double step, const std::array<std::string_view, n>& names) {
  std::size_t i = 0;
  while (i + 1 < n && value >= step) {
    value /= step;
    ++i;
  }
  return i == 0 ? fmt::format("{:.0f} {}", value, names[i])
                : fmt::format("{:.2f} {}", value, names[i]);
}

}  // namespace

Result<std::int64_t> parse_size(std::string_view text, std::string_view field) {
  return parse(text, kSizes, field, "64kb");
}

Result<std::int64_t> parse_rate(std::string_view text, std::string_view field) {
  return parse(text, kRates, field, "50mbit");
}

std::string format_size(std::int64_t bytes) {
  constexpr std::array<std::string_view, 5> kNames{"B", "KiB", "MiB", "GiB", "TiB"};
  return scaled(static_cast<double>(bytes), 1024, kNames);
}

std::string format_rate(std::int64_t bits_per_second) {
  constexpr std::array<std::string_view, 4> kNames{"bit/s", "kbit/s", "Mbit/s", "Gbit/s"};
  return scaled(static_cast<double>(bits_per_second), 1000, kNames);
}

std::string format_seconds(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.3f} ms", seconds * 1e3);
  return fmt::format("{:.3f} s", seconds);
}

}  // namespace railwave
