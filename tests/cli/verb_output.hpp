// A verb that measures nothing, run to its end: exit status, output and JSON.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "testbed/scratch.hpp"

namespace railwave::cli {

struct VerbOutput {
  int status = -1;
  std::string output;
  std::string errors;
};

/// `prepare` runs in the child.
inline VerbOutput run_verb(std::vector<std::string> words,
                           const std::function<void()>& prepare = {}) {
  words.insert(words.begin(), RAILWAVE_COMMAND);
  Command command(words, prepare);
  VerbOutput out;
  out.output = command.rest_of_output();
  out.errors = command.errors();
  out.status = command.wait();
  return out;
}

/// What the verb writes with --json. The verb must succeed.
inline nlohmann::json verb_json(std::vector<std::string> words) {
  const testbed::ScratchDirectory scratch;
  words.insert(words.end(), {"--json", scratch.file("out.json")});
  const auto done = run_verb(words);
  EXPECT_EQ(done.status, 0) << done.errors;
  std::ifstream file(scratch.file("out.json"));
  return nlohmann::json::parse(file, nullptr, false);
}

}  // namespace railwave::cli
