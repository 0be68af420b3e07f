// Runs a fuzz target once on every file of its corpus: what fuzzing found stays mended, also where
// there is no libFuzzer.
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

std::vector<std::string> corpus_files() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(RAILWAVE_CORPUS)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

class CorpusTest : public testing::TestWithParam<std::string> {};

TEST_P(CorpusTest, IsDecodedOrRefusedInOrder) {
  std::ifstream file(std::filesystem::path(RAILWAVE_CORPUS) / GetParam(), std::ios::binary);
  ASSERT_TRUE(file);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  // A broken expectation of the target aborts.
  EXPECT_EQ(
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()), 0);
}

std::string case_name(const testing::TestParamInfo<std::string>& file) {
  std::string name = file.param;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

// Without a file there is no case, and GoogleTest fails.
INSTANTIATE_TEST_SUITE_P(Files, CorpusTest, testing::ValuesIn(corpus_files()), case_name);

}  // namespace
