// Numbers on the command line, read strictly: every verb declares its numeric options with these.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <railwave/error.hpp>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace railwave::cli {

/// What --help says of an option.
struct OptionText {
  const char* name;  ///< "--nodes" or "-n,--iters"
  const char* text;
  const char* type;
};

/// Both ends belong to a range.
struct WholeRange {
  std::int64_t least = 0;
  std::int64_t most = 0;
};
constexpr WholeRange kFromZero{0, INT64_MAX};
constexpr WholeRange kFromOne{1, INT64_MAX};

struct RealRange {
  double least = 0;
  double most = 0;
};

constexpr RealRange kTimeoutSeconds{0.001, 1e7};

/// The whole of `text` in decimal digits, perhaps after a "-"; no "+", leading zero, hexadecimal
/// number or separator. Errors: InvalidArgument{option} with the value and the range.
Result<std::int64_t> parse_whole(std::string_view text, const std::string& option,
                                 WholeRange range);
/// The whole of `text` as a finite decimal number. Errors: likewise.
Result<double> parse_real(std::string_view text, const std::string& option, RealRange range);
/// As parse_whole(), of 0 to 2^64 - 1. Errors: likewise.
Result<std::uint64_t> parse_seed(std::string_view text, const std::string& option);

/// How a number that was read reaches its place; `shown` is the default in --help.
struct WholeTarget {
  std::function<void(std::int64_t)> set;
  std::string shown{};
};
CLI::Option* add_whole_option(CLI::App& verb, const OptionText& text, WholeRange range,
                              WholeTarget target);

/// An int, a std::int64_t, a std::size_t or an optional one of these. REQUIRES: `value` outlives
/// the parsing (also below); the range fits into its type.
template <class T>
CLI::Option* add_whole(CLI::App& verb, const OptionText& text, WholeRange range, T& value) {
  if constexpr (std::is_integral_v<T>) {
    return add_whole_option(
        verb, text, range,
        {[&value](std::int64_t read) { value = static_cast<T>(read); }, std::to_string(value)});
  } else {
    return add_whole_option(verb, text, range, {[&value](std::int64_t read) {
                              value = static_cast<typename T::value_type>(read);
                            }});
  }
}
/// Separated by commas.
CLI::Option* add_whole_list(CLI::App& verb, const OptionText& text, WholeRange range,
                            std::vector<std::int64_t>& values);
CLI::Option* add_real(CLI::App& verb, const OptionText& text, RealRange range, double& value);
CLI::Option* add_seed(CLI::App& verb, const char* text, std::uint64_t& value);

}  // namespace railwave::cli
