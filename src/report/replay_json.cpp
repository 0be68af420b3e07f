#include "report/replay_json.hpp"

#include <cmath>
#include <limits>
#include <set>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/fail.hpp"
#include "replay_fields.hpp"

namespace railwave::report {
namespace {

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
  std::string place;
  std::optional<Error> error;

  void refuse(const std::string& sentence) {
    if (error) return;
    const std::string where = place.empty() ? "result" : place;
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
      const Step step(walk, name.empty() ? "''" : name);
      if (!known.contains(name)) walk.refuse("is not a field of " + std::string(kReplaySchema));
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

Json write_result(const ReplayResult& result, Walk& walk) {
  Json object = Json::object();
  object["schema"] = kReplaySchema;
  object.update(write(result, walk));
  return object;
}

// JSON values are never copied or dumped here: both recurse as deep as the text is nested.
Result<ReplayResult> read_result(const Json& json) {
  Walk walk;
  ReplayResult result;
  if (!json.is_object()) {
    walk.refuse("expected an object");
    return fail(*walk.error);
  }
  const auto schema = json.find("schema");
  if (schema == json.end() || !schema->is_string() || *schema != kReplaySchema) {
    return fail(ErrorCode::Unsupported, "schema",
                fmt::format("schema is {}, expected {}",
                            schema != json.end() && schema->is_string()
                                ? schema->get_ref<const std::string&>()
                                : "no string",
                            kReplaySchema));
  }
  Reader reader{json, walk, {"schema"}};
  fields(reader, result);
  reader.refuse_unknown();
  if (walk.error) return fail(*walk.error);
  return result;
}

/// Parses text; a key that comes twice in an object is an error.
Result<Json> parse(std::string_view text) {
  std::vector<std::set<std::string>> keys;
  std::optional<std::string> repeated;
  const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key &&
        !keys.back().insert(parsed.get<std::string>()).second) {
      repeated = parsed.get<std::string>();
    }
    return true;
  };
  try {
    Json json = Json::parse(text, watch);
    if (!repeated) return json;
    return fail(ErrorCode::InvalidArgument, *repeated,
                fmt::format("field {} comes twice in an object", *repeated));
  } catch (const Json::parse_error& error) {
    return fail(ErrorCode::InvalidArgument, "json",
                fmt::format("byte {}: not JSON: {}", error.byte, error.what()));
  } catch (const Json::exception& error) {
    return fail(ErrorCode::InvalidArgument, "json", fmt::format("not JSON: {}", error.what()));
  }
}

/// Text that is not UTF-8 (a file name may be) is written with replacement characters.
std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace

Result<std::string> to_json(const ReplayResult& result) { return to_json(std::span(&result, 1)); }

Result<std::string> to_json(std::span<const ReplayResult> results) {
  Json array = Json::array();
  for (const ReplayResult& result : results) {
    Walk walk;
    array.push_back(write_result(result, walk));
    if (walk.error) return fail(*walk.error);
  }
  return dump(results.size() == 1 ? array[0] : array);
}

Result<std::vector<ReplayResult>> from_json(std::string_view text) {
  auto json = parse(text);
  if (!json) return fail(std::move(json).error());
  std::vector<ReplayResult> results;
  const std::size_t count = json->is_array() ? json->size() : 1;
  for (std::size_t i = 0; i < count; ++i) {
    auto result = read_result(json->is_array() ? (*json)[i] : *json);
    if (!result) return fail(std::move(result).error());
    results.push_back(std::move(*result));
  }
  return results;
}

}  // namespace railwave::report
