// How two plans differ, as text for people and as JSON.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "plan/recorded_plan.hpp"

namespace railwave::cli {

struct DifferenceText {
  bool differs = false;
  std::string text{};
  nlohmann::ordered_json json{};  ///< docs/formats/plan.md, "Answers"
};

/// What differs between `plan` and the plan of --compare, or that nothing does.
DifferenceText difference_text(const plan::RecordedPlan& plan, const plan::RecordedPlan& other);

}  // namespace railwave::cli
