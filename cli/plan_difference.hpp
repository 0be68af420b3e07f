// How two plans differ, as text for people.
#pragma once

#include <string>

#include "plan/recorded_plan.hpp"

namespace railwave::cli {

struct DifferenceText {
  bool differs = false;
  std::string text{};
};

/// What differs between `plan` and the plan of --compare, or that nothing does.
DifferenceText difference_text(const plan::RecordedPlan& plan, const plan::RecordedPlan& other);

}  // namespace railwave::cli
