#include "report/heat_map.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/checked.hpp"
#include "report/table.hpp"

namespace railwave::report {
namespace {

constexpr std::string_view kCharacters = " .:-=+*#%@";
/// Of the 256 colours of terminals, from dark to bright in steps that also read in grey.
constexpr std::array<int, 10> kColours{0, 17, 18, 19, 25, 31, 37, 71, 149, 226};
constexpr int kDarkTextFrom = 7;
constexpr int kBarWidth = 40;

std::string coloured(const std::string& text, int level) {
  return fmt::format("\x1b[48;5;{}m\x1b[38;5;{}m{}\x1b[0m",
                     kColours[static_cast<std::size_t>(level)], level >= kDarkTextFrom ? 16 : 15,
                     text);
}

char character(int level) { return kCharacters[static_cast<std::size_t>(level)]; }

std::int64_t largest_of(std::span<const std::int64_t> loads) {
  return loads.empty() ? 0 : std::ranges::max(loads);
}

bool gap_before(const HeatMap& map, std::size_t i) {
  return map.group > 0 && i > 0 && i % map.group == 0;
}

std::string without_trailing_blanks(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

}  // namespace

int heat(std::int64_t load, std::int64_t largest) {
  RAILWAVE_CHECK(load >= 0 && load <= largest, "load %lld of %lld", static_cast<long long>(load),
                 static_cast<long long>(largest));
  if (load == 0) return 0;
  if (load == largest) return 9;
  const double part = static_cast<double>(load) / static_cast<double>(largest);
  return std::clamp(1 + static_cast<int>(part * 8), 1, 8);
}

std::string numbered_map(const HeatMap& map, Shades shades) {
  RAILWAVE_CHECK(map.cells.size() == map.size * map.size);
  const std::int64_t largest = largest_of(map.cells);
  const auto width = std::max<std::size_t>(fmt::formatted_size("{}", largest), 2);
  std::string out = comment(map.title);
  std::string head = "#     ";
  for (std::size_t d = 0; d < map.size; ++d) head += fmt::format(" {:>{}}  ", d, width);
  out += without_trailing_blanks(head);
  for (std::size_t s = 0; s < map.size; ++s) {
    std::string line = fmt::format("# {:>3} ", s);
    for (std::size_t d = 0; d < map.size; ++d) {
      const std::int64_t load = map.cells[s * map.size + d];
      const int level = heat(load, largest);
      line += shades == Shades::Colours
                  ? ' ' + coloured(fmt::format("{:>{}}", load, width + 1), level) + ' '
                  : fmt::format(" {:>{}} {}", load, width, character(level));
    }
    out += without_trailing_blanks(line);
  }
  return out;
}

std::string shaded_map(const HeatMap& map, Shades shades) {
  RAILWAVE_CHECK(map.cells.size() == map.size * map.size);
  const std::int64_t largest = largest_of(map.cells);
  std::string out = comment(map.title);
  for (std::size_t s = 0; s < map.size; ++s) {
    if (gap_before(map, s)) out += "#\n";
    std::string line = fmt::format("# {:>4} |", s);
    for (std::size_t d = 0; d < map.size; ++d) {
      if (gap_before(map, d)) line += ' ';
      const int level = heat(map.cells[s * map.size + d], largest);
      line += shades == Shades::Colours ? coloured(" ", level) : std::string(1, character(level));
    }
    out += line + "|\n";
  }
  return out + comment(shades == Shades::Colours
                           ? fmt::format("darkest: nothing, brightest: {}", largest)
                           : fmt::format("' ' is nothing, '@' is {}; between: \"{}\"", largest,
                                         kCharacters.substr(1, 8)));
}

std::string bars(const std::string& title, const std::vector<std::string>& names,
                 std::span<const std::int64_t> loads, Shades shades) {
  RAILWAVE_CHECK(names.size() == loads.size());
  const std::int64_t largest = largest_of(loads);
  double sum = 0;
  std::size_t width = 0;
  for (std::size_t i = 0; i < loads.size(); ++i) {
    sum += static_cast<double>(loads[i]);
    width = std::max(width, names[i].size());
  }
  std::string out = comment(title);
  for (std::size_t i = 0; i < loads.size(); ++i) {
    const double part =
        largest > 0 ? static_cast<double>(loads[i]) / static_cast<double>(largest) : 0;
    const int length = static_cast<int>(part * kBarWidth + 0.5);
    const std::string bar(static_cast<std::size_t>(length), shades == Shades::Colours ? ' ' : '#');
    const std::string rest(static_cast<std::size_t>(kBarWidth - length), ' ');
    out += fmt::format(
        "# {:<{}} |{}{}| {:5.2f} %  {}\n", names[i], width,
        shades == Shades::Colours && length > 0 ? coloured(bar, heat(loads[i], largest)) : bar,
        rest, sum > 0 ? 100 * static_cast<double>(loads[i]) / sum : 0.0, loads[i]);
  }
  return out;
}

}  // namespace railwave::report
