#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "workload/scratch_folder.hpp"
#include "workload/trace_reader.hpp"

namespace railwave::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using CountsCsvTest = ScratchFolder;

TEST_F(CountsCsvTest, ATaskIsChosenBySuffixOrOption) {
  const auto path = write("c.csv", "task,layer,e0,e1\nlaw,1,1,2\nlaw,2,3,4\nintent,1,5,6\n");
  const auto law = read_trace(path + ":law");
  ASSERT_TRUE(law) << to_string(law.error());
  EXPECT_EQ(law->layers(), 2);
  EXPECT_THAT(law->expert_counts(1), ElementsAre(3, 4));
  EXPECT_THAT(read_trace(path, {.task = "intent"})->expert_counts(0), ElementsAre(5, 6));
}

TEST_F(CountsCsvTest, AFileOfOneTaskNeedsNoChoice) {
  EXPECT_EQ(read_trace(write("a.csv", "batch,layer,e0\nb,0,7\nb,1,8"))->layers(), 2);
  EXPECT_EQ(read_trace(write("b.csv", "layer,e0\r\n0,7\r\n"))->layers(), 1);
}

TEST_F(CountsCsvTest, AmbiguousAndUnknownTasksListWhatThereIs) {
  const auto path = write("c.csv", "task,layer,e0\na,0,1\nb,0,2\n");
  EXPECT_THAT(read_trace(path).error().message, HasSubstr("has several tasks; it has a, b"));
  EXPECT_THAT(read_trace(path + ":x").error().message, HasSubstr("has no task 'x'; it has a, b"));
  EXPECT_THAT(read_trace(write("d.csv", "layer,e0\n0,1\n") + ":x").error().message,
              HasSubstr("no task column"));
}

TEST_F(CountsCsvTest, EveryErrorNamesTheLine) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "line 1: expected the header"},
      {"task,e0\n", "line 1: expected the header"},
      {"task,layer\n", "line 1: expected at least the column e0"},
      {"task,layer,e0,e2\n", "line 1: expected column e1, found 'e2'"},
      {"task,layer,e0\n", "expected at least one row"},
      {"task,layer,e0\na\n", "line 2: expected a layer number"},
      {"task,layer,e0\na,0,1\na,2,1\n", "line 3: expected layer 1, found 2"},
      {"task,layer,e0\na,0,1\nb,0,1\na,1,1\n", "line 4: task 'a' again"},
      {"task,layer,e0,e1\na,0,1\n", "line 2: column e1: expected a count, found 'the end"},
      {"task,layer,e0\na,0,1.5\n", "line 2: column e0: expected a count, found '1.5'"},
      {"task,layer,e0\na,0,-1\n", "line 2: column e0"},
      {"task,layer,e0\na,0,99999999999999999999\n", "line 2: column e0"},
      {"task,layer,e0\na,0,1,2\n", "line 2: more than 1 counts"},
      {"layer,e0\n9223372036854775807,1\n", "line 2: expected a layer up to 2147483647"},
      {"layer,e0,e1\n0,9223372036854775807,1\n", "beyond 64 bits"}};
  for (const auto& [text, expected] : cases) {
    const auto trace = read_trace(write("c.csv", text));
    ASSERT_FALSE(trace) << expected;
    EXPECT_THAT(trace.error().message, HasSubstr(expected));
  }
}

// Each line looked through all tasks before it: a minute for this file.
TEST_F(CountsCsvTest, ManyTasksAreToldApartQuickly) {
  std::string text = "task,layer,e0\n";
  for (int i = 0; i < 200'000; ++i) text += "t" + std::to_string(i) + ",1,7\n";
  const auto trace = read_trace(write("many.csv", text) + ":t199999");
  ASSERT_TRUE(trace) << to_string(trace.error());
  EXPECT_EQ(trace->expert_counts(0), std::vector<std::int64_t>{7});
  EXPECT_THAT(read_trace(write("twice.csv", text + "t5,2,7\n") + ":t5").error().message,
              HasSubstr("line 200002: task 't5' again"));
}

}  // namespace
}  // namespace railwave::workload
