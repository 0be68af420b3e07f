// Structs to JSON and strictly back, by a function `fields` that names every field once. Private to
// the room.
//
// `template <class Archive, class T> void fields(Archive& a, T& v)` calls a(name, value) for each
// field of T in the order in which they are written. Fields are numbers, strings, structs of this
// kind, vectors and optionals of them; an absent optional is left out.
#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <railwave/error.hpp>

#include "base/strict_json.hpp"

namespace railwave::report {

using Json = nlohmann::ordered_json;

template <class T>
constexpr bool kIsOptional = false;
template <class T>
constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
constexpr bool kIsVector = false;
template <class T>
constexpr bool kIsVector<std::vector<T>> = true;

/// The first error of a walk over a value, and where it was.
struct Walk {
  std::string_view schema;
  std::string_view whole;  ///< what the outermost object is called
  std::string place{};
  std::optional<Error> error{};

  void refuse(const std::string& sentence) {
    if (error) return;
    const std::string where = place.empty() ? std::string(whole) : place;
    error = Error{ErrorCode::InvalidArgument, -1, where, fmt::format("{}: {}", where, sentence)};
  }
};

/// Extends the place while in scope.
class Step {
 public:
  Step(Walk& walk, const std::string& step) : walk_(walk), length_(walk.place.size()) {
    walk.place += length_ > 0 && step[0] != '[' ? "." + step : step;
  }
  ~Step() { walk_.place.resize(length_); }
  Step(const Step&) = delete;
  Step& operator=(const Step&) = delete;

 private:
  Walk& walk_;
  std::size_t length_;
};

template <class T>
Json write(const T& value, Walk& walk);

/// Writes the fields of one object; absent ones are left out.
struct Writer {
  Walk& walk;
  Json object = Json::object();

  template <class T>
  void operator()(const char* name, const T& value) {
    const Step step(walk, name);
    if constexpr (kIsOptional<T>) {
      if (value) object[name] = write(*value, walk);
    } else {
      object[name] = write(value, walk);
    }
  }
};

template <class T>
Json write(const T& value, Walk& walk) {
  if constexpr (kIsVector<T>) {
    Json array = Json::array();
    for (std::size_t i = 0; i < value.size(); ++i) {
      const Step step(walk, fmt::format("[{}]", i));
      array.push_back(write(value[i], walk));
    }
    return array;
  } else if constexpr (std::is_floating_point_v<T>) {
    if (!std::isfinite(value)) walk.refuse("is not a finite number; leave it absent");
    return value;
  } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
    return value;
  } else {
    Writer writer{walk};
    fields(writer, value);
    return std::move(writer.object);
  }
}

template <class T>
void read(const Json& json, T& value, Walk& walk);

/// Reads the fields of one object and remembers which it knows.
struct Reader {
  const Json& object;
  Walk& walk;
  std::set<std::string> known{};

  template <class T>
  void operator()(const char* name, T& value) {
    known.insert(name);
    const Step step(walk, name);
    const auto found = object.find(name);
    if constexpr (kIsOptional<T>) {
      if (found != object.end()) read(*found, value.emplace(), walk);
    } else if (found != object.end()) {
      read(*found, value, walk);
    } else {
      walk.refuse("is missing");
    }
  }

  void refuse_unknown() {
    for (const auto& [name, value] : object.items()) {
      const Step step(walk, name.empty() ? "''" : shown(name));
      if (!known.contains(name)) walk.refuse("is not a field of " + std::string(walk.schema));
    }
  }
};

template <class T>
void read_integer(const Json& json, T& value, Walk& walk) {
  const bool fits = json.is_number_integer() &&
                    (json.is_number_unsigned() ? std::in_range<T>(json.get<std::uint64_t>())
                                               : std::in_range<T>(json.get<std::int64_t>()));
  if (fits) {
    value = json.get<T>();
  } else {
    walk.refuse(fmt::format("expected an integer of {} to {}", std::numeric_limits<T>::min(),
                            std::numeric_limits<T>::max()));
  }
}

template <class T>
void read_array(const Json& json, std::vector<T>& value, Walk& walk) {
  if (!json.is_array()) return walk.refuse("expected an array");
  for (std::size_t i = 0; i < json.size(); ++i) {
    const Step step(walk, fmt::format("[{}]", i));
    read(json[i], value.emplace_back(), walk);
  }
}

template <class T>
void read(const Json& json, T& value, Walk& walk) {
  if constexpr (kIsVector<T>) {
    read_array(json, value, walk);
  } else if constexpr (std::is_same_v<T, bool>) {
    json.is_boolean() ? void(value = json.get<bool>()) : walk.refuse("expected true or false");
  } else if constexpr (std::is_integral_v<T>) {
    read_integer(json, value, walk);
  } else if constexpr (std::is_floating_point_v<T>) {
    json.is_number() ? void(value = json.get<T>()) : walk.refuse("expected a number");
  } else if constexpr (std::is_same_v<T, std::string>) {
    json.is_string() ? void(value = json.get<std::string>()) : walk.refuse("expected a string");
  } else {
    if (!json.is_object()) return walk.refuse("expected an object");
    Reader reader{json, walk};
    fields(reader, value);
    reader.refuse_unknown();
  }
}

/// Errors: InvalidArgument{json} with line and column for what parse_strict_json() refuses.
Result<Json> parse_json(std::string_view text);

/// Errors: Unsupported{schema} unless the object's field `schema` is `schema`.
Status check_schema(const Json& object, std::string_view schema);

/// Reads one object of the schema, and nothing else.
/// Errors: Unsupported{schema} for another schema; InvalidArgument naming the field.
template <class T>
Result<T> read_object(const Json& json, std::string_view schema, std::string_view whole) {
  Walk walk{schema, whole};
  T value;
  if (!json.is_object()) {
    walk.refuse("expected an object");
    return tl::unexpected<Error>(*walk.error);
  }
  if (auto known = check_schema(json, schema); !known) {
    return tl::unexpected<Error>(std::move(known).error());
  }
  Reader reader{json, walk, {"schema"}};
  fields(reader, value);
  reader.refuse_unknown();
  if (walk.error) return tl::unexpected<Error>(*walk.error);
  return value;
}

}  // namespace railwave::report
