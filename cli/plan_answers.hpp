// What railwave plan is asked of one plan: --check, --explain, --compare.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <railwave/error.hpp>

#include "plan/recorded_plan.hpp"
#include "trace_phases.hpp"

namespace railwave::cli {

/// Prints each answer when it is found and keeps it for --json.
class PlanAnswers {
 public:
  explicit PlanAnswers(const plan::RecordedPlan& plan) : plan_(plan) {}
  /// What is wrong with the plan, which `file` holds.
  void check(const std::string& file);
  /// Errors: of explain().
  Status explain(const std::vector<std::int64_t>& numbers, const PhaseCounts* sent);
  /// How the plan of `file` differs. Errors: InvalidArgument, Unsupported: of the file.
  Status compare(const std::string& file);
  /// 1 when there is a fault or a difference.
  [[nodiscard]] int status() const { return status_; }
  /// Schema railwave.plan_answer/1 (docs/formats/plan.md): which plan, then what was asked.
  [[nodiscard]] std::string json() const;

 private:
  const plan::RecordedPlan& plan_;
  nlohmann::ordered_json answers_;
  int status_ = 0;
};

}  // namespace railwave::cli
