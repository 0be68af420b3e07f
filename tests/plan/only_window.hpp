// The window of a pair that sends in one window at most.
#pragma once

#include <cstddef>
#include <optional>

#include <gtest/gtest.h>

#include "plan/dispatch_plan.hpp"

namespace railwave::plan {

inline std::optional<std::size_t> only_window(const DispatchPlan& plan, NodePair pair) {
  const auto windows = plan.windows_of(pair);
  EXPECT_LE(windows.size(), 1U);
  if (windows.empty()) return std::nullopt;
  return windows.front();
}

}  // namespace railwave::plan
