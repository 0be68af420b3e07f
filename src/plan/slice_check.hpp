// The part of a plan's check that looks at one slice.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plan/plan_check.hpp"

namespace railwave::plan {

/// Where violations are collected.
class Findings {
 public:
  void add(Fault fault, std::string where) { all_.push_back({fault, std::move(where)}); }
  [[nodiscard]] std::vector<Violation> take() { return std::move(all_); }

 private:
  std::vector<Violation> all_;
};

/// Segments and loads of one slice against its counts. REQUIRES: a pair of two nodes of the
/// cluster; the windows of its sends are checked elsewhere.
void check_slice(const RecordedPlan& plan, const RecordedSlice& slice, Findings& findings);

}  // namespace railwave::plan
