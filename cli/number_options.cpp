#include "number_options.hpp"

#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/fail.hpp"
#include "base/strict_json.hpp"

namespace railwave::cli {
namespace {

std::string short_form(std::int64_t value) {
  if (value == std::numeric_limits<std::int64_t>::max()) return "2^63 - 1";
  if (value == std::numeric_limits<std::int32_t>::max()) return "2^31 - 1";
  return fmt::format("{}", value);
}

tl::unexpected<Error> no_number(std::string_view text, const std::string& option, const char* kind,
                                const std::string& range) {
  return fail(ErrorCode::InvalidArgument, option,
              fmt::format("'{}' is not a {} {}", shown(text), kind, range));
}

/// "-" and digits without a leading zero.
bool is_plain(std::string_view text) {
  const std::string_view digits = text.substr(text.starts_with("-") ? 1 : 0);
  const bool all = digits.find_first_not_of("0123456789") == std::string_view::npos;
  return all && !digits.empty() && (digits.size() == 1 || digits.front() != '0') && text != "-0";
}

template <class T>
std::optional<T> read(std::string_view text) {
  T value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// As CLI11 says what is wrong on a command line.
template <class T>
T or_throw(Result<T> value) {
  if (!value) throw CLI::ValidationError(value.error().field, value.error().message);
  return *std::move(value);
}

/// "--iters" of "-n,--iters".
std::string long_name(const char* names) {
  const std::string all = names;
  const auto comma = all.rfind(',');
  return comma == std::string::npos ? all : all.substr(comma + 1);
}

template <class Words, class Read>
CLI::Option* add(CLI::App& verb, const OptionText& text, Read read_words) {
  return verb.add_option_function<Words>(text.name, std::move(read_words), text.text)
      ->type_name(text.type);
}

}  // namespace

Result<std::int64_t> parse_whole(std::string_view text, const std::string& option,
                                 WholeRange range) {
  const auto value = is_plain(text) ? read<std::int64_t>(text) : std::nullopt;
  if (value && *value >= range.least && *value <= range.most) return *value;
  return no_number(text, option, "whole number",
                   fmt::format("from {} to {}", range.least, short_form(range.most)));
}

Result<std::uint64_t> parse_seed(std::string_view text, const std::string& option) {
  const auto value = is_plain(text) ? read<std::uint64_t>(text) : std::nullopt;
  if (value) return *value;
  return no_number(text, option, "whole number", "from 0 to 2^64 - 1");
}

Result<double> parse_real(std::string_view text, const std::string& option, RealRange range) {
  const auto value = read<double>(text);
  if (value && std::isfinite(*value) && *value >= range.least && *value <= range.most) {
    return *value;
  }
  return no_number(text, option, "number", fmt::format("from {} to {}", range.least, range.most));
}

CLI::Option* add_whole_option(CLI::App& verb, const OptionText& text, WholeRange range,
                              WholeTarget target) {
  auto* option = add<std::string>(
      verb, text,
      [name = long_name(text.name), range, set = std::move(target.set)](const std::string& word) {
        set(or_throw(parse_whole(word, name, range)));
      });
  if (!target.shown.empty()) option->default_str(target.shown);
  return option;
}

CLI::Option* add_whole_list(CLI::App& verb, const OptionText& text, WholeRange range,
                            std::vector<std::int64_t>& values) {
  auto* option = add<std::vector<std::string>>(
      verb, text,
      [name = long_name(text.name), range, &values](const std::vector<std::string>& words) {
        values.clear();
        for (const std::string& word : words) {
          values.push_back(or_throw(parse_whole(word, name, range)));
        }
      });
  if (!values.empty()) option->default_str(fmt::format("{}", fmt::join(values, ",")));
  return option->delimiter(',');
}

CLI::Option* add_real(CLI::App& verb, const OptionText& text, RealRange range, double& value) {
  return add<std::string>(verb, text,
                          [name = long_name(text.name), range, &value](const std::string& word) {
                            value = or_throw(parse_real(word, name, range));
                          })
      ->default_str(fmt::format("{}", value));
}

CLI::Option* add_seed(CLI::App& verb, const char* text, std::uint64_t& value) {
  return add<std::string>(
             verb, {"--seed", text, "N"},
             [&value](const std::string& word) { value = or_throw(parse_seed(word, "--seed")); })
      ->default_str(std::to_string(value));
}

}  // namespace railwave::cli
