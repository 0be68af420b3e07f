#include "report/plan_json.hpp"

#include "base/fail.hpp"
#include "base/text_file.hpp"
#include "json_fields.hpp"
#include "plan_fields.hpp"

namespace railwave::report {
namespace {

constexpr std::string_view kWhole = "plan";
constexpr std::size_t kMostBytes = std::size_t{256} << 20;

/// A list with each element on a line of its own.
std::string lines(const Json& list) {
  std::string out = "[";
  for (std::size_t i = 0; i < list.size(); ++i)
    out += (i > 0 ? ",\n    " : "\n    ") + list[i].dump();
  return out + (list.empty() ? "]" : "\n  ]");
}

}  // namespace

std::string plan_to_json(const plan::RecordedPlan& plan) {
  Walk walk{kPlanSchema, kWhole};
  const Json object = write(plan_fields(plan), walk);
  std::string out = fmt::format("{{\n  \"schema\": \"{}\"", kPlanSchema);
  for (const auto& [name, value] : object.items()) {
    out += fmt::format(",\n  \"{}\": {}", name, value.is_array() ? lines(value) : value.dump());
  }
  return out + "\n}\n";
}

Result<plan::RecordedPlan> plan_from_json(std::string_view text) {
  const auto json = parse_json(text);
  if (!json) return fail(json.error());
  const auto read = read_object<PlanFields>(*json, kPlanSchema, kWhole);
  if (!read) return fail(read.error());
  return plan_of(*read);
}

Result<plan::RecordedPlan> read_plan(const std::string& path) {
  const auto text = read_text_file(path, "plan", kMostBytes);
  if (!text) return fail(text.error());
  auto plan = plan_from_json(*text);
  if (plan) return plan;
  Error error = std::move(plan).error();
  error.message = fmt::format("{}: {}", path, error.message);
  return fail(std::move(error));
}

}  // namespace railwave::report
