#include "toml_dots.hpp"

#include <algorithm>

namespace railwave::testbed {
namespace {

/// Three equal quotes begin at `at`.
bool opens_long(std::string_view text, std::size_t at) {
  return at + 2 < text.size() && text[at + 1] == text[at] && text[at + 2] == text[at];
}

/// The end of the string that opens at `at`: behind its closing quotes, or at the end of the line
/// or text where they are missing, which is a mistake that the library reports.
std::size_t string_end(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const bool is_long = opens_long(text, at);
  const std::size_t quotes = is_long ? 3 : 1;
  for (at += quotes; at < text.size(); ++at) {
    if (text[at] == '\\' && quote == '"') {
      ++at;
    } else if (text[at] == '\n' && !is_long) {
      return at;
    } else if (text[at] == quote && (!is_long || opens_long(text, at))) {
      // A long string may end in two quotes of its own.
      const std::size_t most = is_long ? 5 : 1;
      std::size_t end = at;
      while (end < text.size() && end - at < most && text[end] == quote) ++end;
      return end;
    }
  }
  return text.size();
}

TextPlace place_of(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  const auto lines = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  const std::size_t newline = before.rfind('\n');
  return {lines + 1, newline == std::string_view::npos ? at + 1 : at - newline};
}

}  // namespace

std::optional<TextPlace> too_many_dots(std::string_view text, std::size_t most) {
  std::size_t dots = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '"' || text[at] == '\'') {
      at = string_end(text, at);
      continue;
    }
    if (text[at] == '#') at = std::min(text.find('\n', at), text.size() - 1);
    if (text[at] == '.' && ++dots > most) return place_of(text, at);
    ++at;
  }
  return std::nullopt;
}

}  // namespace railwave::testbed
