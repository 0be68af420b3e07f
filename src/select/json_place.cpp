#include "json_place.hpp"

#include <algorithm>
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

/// A key as a part of a JSON pointer (RFC 6901).
std::string step(std::string_view key) {
  std::string out = "/";
  for (const char c : key) out += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return out;
}

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view name, const JsonLimits& limits) {
  auto json = parse_strict_json(text, limits);
  if (json) return *std::move(json);
  const JsonFault& fault = json.error();
  return fail(ErrorCode::InvalidArgument, "cost_table",
              fmt::format("{}:{}:{}: {}", name, fault.line, fault.column, fault.sentence));
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
