#include "json_place.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/fail.hpp"

namespace railwave::select {
namespace {

using Json = nlohmann::ordered_json;

std::string shown_value(const Json& value) {
  if (value.is_string()) return fmt::format("\"{}\"", shown(value.get_ref<const std::string&>()));
  if (value.is_structured() || value.is_discarded()) return fmt::format("an {}", value.type_name());
  return value.dump();
}

/// `byte` counts from 1 as nlohmann-json's errors do.
std::string line_and_column(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, byte > 0 ? byte - 1 : 0);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const auto start = before.rfind('\n');
  const auto column = before.size() - (start == std::string_view::npos ? 0 : start + 1) + 1;
  return fmt::format("{}:{}", line, column);
}

/// "parse error at line 1, column 2: syntax error ...": what comes after the place.
std::string_view reason_of(std::string_view what) {
  const auto column = what.find("column ");
  const auto colon = what.find(": ", column == std::string_view::npos ? 0 : column);
  return colon == std::string_view::npos ? what : what.substr(colon + 2);
}

/// Thrown out of the parser's callback, which has no other way to stop it; caught in parse_json.
struct Stop {
  std::string sentence;
};

/// Watches a text while it is parsed.
class Watch {
 public:
  explicit Watch(const JsonLimits& limits) : limits_(limits) {}

  bool operator()(int depth, Json::parse_event_t event, const Json& parsed) {
    using Event = Json::parse_event_t;
    if (event == Event::object_end) keys_.pop_back();
    if (event == Event::object_end || event == Event::array_end) return true;
    if (++values_ > limits_.values) {
      throw Stop{fmt::format("holds more than {} values", limits_.values)};
    }
    if (depth > limits_.depth) {
      throw Stop{fmt::format("is nested more than {} deep", limits_.depth)};
    }
    if (event == Event::object_start) keys_.emplace_back();
    if (event == Event::key && !keys_.back().insert(parsed.get<std::string>()).second) {
      throw Stop{fmt::format("the key \"{}\" comes twice in an object",
                             shown(parsed.get_ref<const std::string&>()))};
    }
    return true;
  }

 private:
  const JsonLimits& limits_;
  std::size_t values_ = 0;
  std::vector<std::set<std::string>> keys_;
};

/// A key as a part of a JSON pointer (RFC 6901).
std::string step(std::string_view key) {
  std::string out = "/";
  for (const char c : key) out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return out;
}

}  // namespace

std::string shown(std::string_view text) {
  constexpr std::size_t kMostShown = 40;
  std::string out;
  for (const char c : text.substr(0, kMostShown)) {
    const bool plain = c >= ' ' && c <= '~';
    out += plain ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
  return text.size() > kMostShown ? out + "..." : out;
}

Result<Json> parse_json(std::string_view text, std::string_view name, const JsonLimits& limits) {
  const auto refuse = [&](const std::string& sentence) {
    return fail(ErrorCode::InvalidArgument, "cost_table", fmt::format("{}: {}", name, sentence));
  };
  if (text.size() > limits.bytes) {
    return refuse(fmt::format("is {} bytes long; at most {} are read", text.size(), limits.bytes));
  }
  // The parser copies its callback.
  Watch watch(limits);
  try {
    return Json::parse(text, [&watch](int depth, Json::parse_event_t event, Json& parsed) {
      return watch(depth, event, parsed);
    });
  } catch (const Stop& stop) {
    return refuse(stop.sentence);
  } catch (const Json::parse_error& error) {
    return fail(ErrorCode::InvalidArgument, "cost_table",
                fmt::format("{}:{}: not JSON: {}", name, line_and_column(text, error.byte),
                            reason_of(error.what())));
  } catch (const Json::exception& error) {
    return refuse(fmt::format("not JSON: {}", error.what()));
  }
}

void JsonPlace::refuse(const std::string& sentence) const {
  if (reading_->refusal) return;
  const std::string place = pointer_.empty() ? "/" : pointer_;
  reading_->refusal = Error{ErrorCode::InvalidArgument, -1, place,
                            fmt::format("{}: {}: {}", reading_->name, place, sentence)};
}

void JsonPlace::expected(std::string_view what) const {
  refuse(fmt::format("expected {}, not {}", what, shown_value(*value_)));
}

void JsonPlace::expect_keys(std::initializer_list<std::string_view> required,
                            std::initializer_list<std::string_view> optional) const {
  if (!value_->is_object()) return expected("an object");
  for (const std::string_view key : required) {
    if (!has(key)) refuse(fmt::format("the key \"{}\" is missing", key));
  }
  const auto in = [](const auto& list, const std::string& key) {
    return std::find(list.begin(), list.end(), key) != list.end();
  };
  for (const auto& [key, value] : value_->items()) {
    if (in(required, key) || in(optional, key)) continue;
    std::vector<std::string_view> known(required);
    known.insert(known.end(), optional);
    refuse(fmt::format("the key \"{}\" is not known; expected {}", shown(key),
                       fmt::join(known, ", ")));
  }
}

bool JsonPlace::has(std::string_view key) const {
  return value_->is_object() && value_->find(std::string(key)) != value_->end();
}

JsonPlace JsonPlace::at(std::string_view key) const {
  static const Json kNothing;
  const auto found = has(key) ? value_->find(std::string(key)) : value_->end();
  return {found == value_->end() ? kNothing : *found, pointer_ + step(key), *reading_};
}

std::vector<std::pair<std::string, JsonPlace>> JsonPlace::members() const {
  std::vector<std::pair<std::string, JsonPlace>> out;
  if (!value_->is_object()) {
    expected("an object");
    return out;
  }
  for (const auto& [key, value] : value_->items()) {
    out.emplace_back(key, JsonPlace(value, pointer_ + step(key), *reading_));
  }
  return out;
}

std::vector<JsonPlace> JsonPlace::elements(std::size_t most) const {
  std::vector<JsonPlace> out;
  if (!value_->is_array()) {
    expected("an array");
    return out;
  }
  if (value_->size() > most) {
    refuse(fmt::format("expected at most {} elements, not {}", most, value_->size()));
    return out;
  }
  out.reserve(value_->size());
  for (std::size_t i = 0; i < value_->size(); ++i) {
    out.emplace_back((*value_)[i], fmt::format("{}/{}", pointer_, i), *reading_);
  }
  return out;
}

std::string JsonPlace::text() const {
  if (value_->is_string()) return value_->get<std::string>();
  expected("a string");
  return {};
}

std::int64_t JsonPlace::integer(std::int64_t least, std::int64_t most) const {
  const bool fits =
      value_->is_number_integer() &&
      (!value_->is_number_unsigned() || std::in_range<std::int64_t>(value_->get<std::uint64_t>()));
  if (fits && value_->get<std::int64_t>() >= least && value_->get<std::int64_t>() <= most) {
    return value_->get<std::int64_t>();
  }
  expected(fmt::format("an integer of {} to {}", least, most));
  return least;
}

double JsonPlace::seconds() const {
  if (value_->is_number()) return value_->get<double>();
  expected("a number of seconds");
  return 0;
}

Decimal JsonPlace::decimal() const {
  const auto value =
      value_->is_string() ? Decimal::parse(value_->get_ref<const std::string&>()) : std::nullopt;
  if (value) return *value;
  expected(
      fmt::format("a decimal in quotes such as \"1.25\", at most {} digits before and {} after "
                  "the point",
                  Decimal::kWholeDigits, Decimal::kPlaces));
  return {};
}

}  // namespace railwave::select
