#include "json_fields.hpp"

#include "base/fail.hpp"

namespace railwave::report {
namespace {

/// More than a plan of 512 nodes has.
constexpr JsonLimits kLimits{std::size_t{32} << 20, 100, 32};

}  // namespace

Result<Json> parse_json(std::string_view text) {
  auto json = parse_strict_json(text, kLimits);
  if (json) return *std::move(json);
  const JsonFault& fault = json.error();
  return fail(ErrorCode::InvalidArgument, "json",
              fmt::format("line {}, column {}: {}", fault.line, fault.column, fault.sentence));
}

Status check_schema(const Json& object, std::string_view schema) {
  const auto found = object.find("schema");
  const bool is_text = found != object.end() && found->is_string();
  if (is_text && *found == schema) return {};
  return fail(
      ErrorCode::Unsupported, "schema",
      fmt::format("schema is {}, expected {}",
                  is_text ? shown(found->get_ref<const std::string&>()) : "no string", schema));
}

}  // namespace railwave::report
