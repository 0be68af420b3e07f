// The answers of `railwave select` for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "select/selector.hpp"
#include "select_options.hpp"

namespace railwave::cli {

/// One phase and its answer.
struct SelectAnswer {
  SelectPhase phase;
  select::Explanation explanation;
};

/// What the answers rest on.
struct SelectGround {
  std::string file;  ///< of the cost table
  const select::Selector& selector;
  select::ClusterShape cluster;  ///< on which it is used
};

std::string select_text(const SelectGround& ground, const std::vector<SelectAnswer>& answers);

/// Schema railwave.select/1.
std::string select_json(const SelectGround& ground, const std::vector<SelectAnswer>& answers);

}  // namespace railwave::cli
