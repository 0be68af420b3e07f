#include "report/plan_json.hpp"

#include <fstream>

#include "base/fail.hpp"
#include "json_fields.hpp"
#include "plan_fields.hpp"

namespace railwave::report {
namespace {

constexpr std::string_view kWhole = "plan";
constexpr std::int64_t kMostBytes = std::int64_t{256} << 20;

/// A list with each element on a line of its own.
std::string lines(const Json& list) {
  std::string out = "[";
  for (std::size_t i = 0; i < list.size(); ++i)
    out += (i > 0 ? ",\n    " : "\n    ") + list[i].dump();
  return out + (list.empty() ? "]" : "\n  ]");
}

tl::unexpected<Error> unreadable(const std::string& path, const std::string& sentence) {
  return fail(ErrorCode::InvalidArgument, "plan", fmt::format("{}: {}", path, sentence));
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
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) return unreadable(path, "can not be opened");
  std::string text;
  for (std::string piece(1 << 16, '\0'); file;) {
    file.read(piece.data(), std::ssize(piece));
    text.append(piece, 0, static_cast<std::size_t>(file.gcount()));
    if (std::ssize(text) > kMostBytes) {
      return unreadable(path, fmt::format("expected at most {} bytes", kMostBytes));
    }
  }
  if (file.bad() || !file.eof()) return unreadable(path, "can not be read");
  auto plan = plan_from_json(text);
  if (plan) return plan;
  Error error = std::move(plan).error();
  error.message = fmt::format("{}: {}", path, error.message);
  return fail(std::move(error));
}

}  // namespace railwave::report
