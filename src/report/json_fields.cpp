#include "json_fields.hpp"

#include "base/fail.hpp"

namespace railwave::report {
namespace {

/// Objects keep their keys in a list, which is searched for every key added.
constexpr std::size_t kMostKeys = 100;

}  // namespace

Result<Json> parse_json(std::string_view text) {
  std::vector<std::set<std::string>> keys;
  std::optional<std::string> repeated;
  std::optional<std::string> one_too_many;
  const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event != Json::parse_event_t::key) return true;
    const auto& key = parsed.get_ref<const std::string&>();
    if (!one_too_many && keys.back().size() == kMostKeys) one_too_many = key;
    if (one_too_many) return false;
    if (!keys.back().insert(key).second) repeated = key;
    return true;
  };
  try {
    Json json = Json::parse(text, watch);
    if (one_too_many) {
      return fail(ErrorCode::InvalidArgument, *one_too_many,
                  fmt::format("field {}: expected at most {} fields in an object", *one_too_many,
                              kMostKeys));
    }
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

Status check_schema(const Json& object, std::string_view schema) {
  const auto found = object.find("schema");
  const bool is_text = found != object.end() && found->is_string();
  if (is_text && *found == schema) return {};
  return fail(ErrorCode::Unsupported, "schema",
              fmt::format("schema is {}, expected {}",
                          is_text ? found->get_ref<const std::string&>() : "no string", schema));
}

}  // namespace railwave::report
