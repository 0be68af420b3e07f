#include "plan_answers.hpp"

#include <utility>

#include <fmt/format.h>

#include "base/fail.hpp"
#include "base/strict_json.hpp"
#include "plan/plan_check.hpp"
#include "plan_difference.hpp"
#include "plan_explain.hpp"
#include "report/plan_json.hpp"

namespace railwave::cli {

using Json = nlohmann::ordered_json;

void PlanAnswers::check(const std::string& file) {
  const auto found = plan::violations(plan_);
  answers_["check"] = {{"file", file}, {"faults", Json::array()}};
  for (const plan::Violation& violation : found) {
    answers_["check"]["faults"].push_back(
        {{"fault", to_string(violation.fault)}, {"where", violation.where}});
    fmt::print("{}: {}: {}\n", file, to_string(violation.fault), violation.where);
  }
  fmt::print("# {}: {} on {} nodes x {} rails, {} records, {} windows, {} slices: {}\n", file,
             to_string(plan_.path), plan_.topology.nodes(), plan_.topology.rails(),
             plan_.counts.total(), plan_.windows.size(), plan_.slices.size(),
             found.empty() ? "ok" : fmt::format("{} faults", found.size()));
  if (!found.empty()) status_ = 1;
}

Status PlanAnswers::explain(const std::vector<std::int64_t>& numbers, const PhaseCounts* sent) {
  auto explained = cli::explain(plan_, numbers, sent);
  if (!explained) return fail(std::move(explained).error());
  fmt::print("{}", explained->text);
  answers_["explain"] = std::move(explained->json);
  return {};
}

Status PlanAnswers::compare(const std::string& file) {
  const auto other = report::read_plan(file);
  if (!other) return fail(other.error());
  const auto difference = difference_text(plan_, *other);
  fmt::print("{}", difference.text);
  answers_["compare"] = {{"file", file}};
  answers_["compare"].update(difference.json);
  if (difference.differs) status_ = 1;
  return {};
}

std::string PlanAnswers::json() const {
  Json out{{"schema", "railwave.plan_answer/1"}};
  out["plan"] = {{"path", to_string(plan_.path)},   {"nodes", plan_.topology.nodes()},
                 {"rails", plan_.topology.rails()}, {"records", plan_.counts.total()},
                 {"windows", plan_.windows.size()}, {"slices", plan_.slices.size()}};
  out.update(answers_);
  return json_text(out);
}

}  // namespace railwave::cli
