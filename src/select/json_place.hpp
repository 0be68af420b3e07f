// Values of a JSON text together with where they stand. Private to the room.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include <railwave/error.hpp>

#include "base/strict_json.hpp"
#include "select/decimal.hpp"

namespace railwave::select {

/// Errors: InvalidArgument, "NAME:LINE:COLUMN: ..." for what parse_strict_json() refuses.
Result<nlohmann::ordered_json> parse_json(std::string_view text, std::string_view name,
                                          const JsonLimits& limits);

/// One value and its JSON pointer. Each read refuses what is not as expected; the first refusal
/// is kept in the Reading, later ones are dropped and reads give defaults.
class JsonPlace {
 public:
  struct Reading {
    std::string name;                ///< in front of every message
    std::optional<Error> refusal{};  ///< (set) by the places
  };

  JsonPlace(const nlohmann::ordered_json& value, std::string pointer, Reading& reading)
      : value_(&value), pointer_(std::move(pointer)), reading_(&reading) {}

  void refuse(const std::string& sentence) const;
  /// Refuses with "expected WHAT, not VALUE".
  void expected(std::string_view what) const;
  /// An object with all of `required`, perhaps some of `optional`, and nothing else.
  void expect_keys(std::initializer_list<std::string_view> required,
                   std::initializer_list<std::string_view> optional = {}) const;
  [[nodiscard]] bool has(std::string_view key) const;
  /// The member; an absent one reads as null.
  [[nodiscard]] JsonPlace at(std::string_view key) const;
  /// The members of an object with their keys, in order; refuses anything else.
  [[nodiscard]] std::vector<std::pair<std::string, JsonPlace>> members() const;
  /// The elements of an array of at most `most`; refuses anything else.
  [[nodiscard]] std::vector<JsonPlace> elements(std::size_t most) const;
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::int64_t integer(std::int64_t least, std::int64_t most) const;
  [[nodiscard]] double seconds() const;
  [[nodiscard]] Decimal decimal() const;

 private:
  const nlohmann::ordered_json* value_;
  std::string pointer_;
  Reading* reading_;
};

}  // namespace railwave::select
