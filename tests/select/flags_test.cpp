// The selector gives the same answers however it was compiled.
#include <array>
#include <cstdio>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "answers.hpp"

namespace railwave::select {
namespace {

std::string output_of(const char* program) {
  std::string out;
  FILE* pipe = ::popen(program, "r");
  if (pipe == nullptr) return out;
  std::array<char, 4096> piece{};
  for (std::size_t n = 0; (n = std::fread(piece.data(), 1, piece.size(), pipe)) > 0;) {
    out.append(piece.data(), n);
  }
  EXPECT_EQ(::pclose(pipe), 0) << program;
  return out;
}

TEST(Flags, DoNotChangeAnAnswer) {
  const std::string here = answers();
  EXPECT_EQ(output_of(RAILWAVE_ANSWERS_PLAIN), here);
  EXPECT_EQ(output_of(RAILWAVE_ANSWERS_FAST), here);
}

TEST(Flags, TheSetHasManyDifferentAnswers) {
  std::istringstream lines(answers());
  std::set<std::string> different;
  int joint = 0;
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    joint += line.starts_with("-1 ");
    different.insert(line);
  }
  EXPECT_EQ(count, 10'000);
  EXPECT_GT(different.size(), 300U);
  EXPECT_GT(joint, 100);
  EXPECT_LT(joint, 5'000);
}

}  // namespace
}  // namespace railwave::select
