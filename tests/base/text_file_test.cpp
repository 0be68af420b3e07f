// Files as texts, and what is no such file.
#include "base/text_file.hpp"

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "scratch_directory.hpp"

namespace railwave {
namespace {

using testing::HasSubstr;

std::string refusal(const std::string& path, std::size_t most = 100) {
  const auto text = read_text_file(path, "table", most);
  EXPECT_FALSE(text);
  if (text) return {};
  EXPECT_EQ(text.error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(text.error().field, "table");
  EXPECT_THAT(text.error().message, testing::StartsWith(path + ": "));
  return text.error().message;
}

TEST(TextFile, IsReadWhole) {
  const ScratchDirectory scratch;
  const std::string long_text(200'000, 'x');
  for (const std::string& text : {std::string(), std::string("a\n\0b", 4), long_text}) {
    const auto read = read_text_file(scratch.write("file", text), "table", text.size());
    ASSERT_TRUE(read) << to_string(read.error());
    EXPECT_EQ(*read, text);
  }
}

TEST(TextFile, TooLongIsRefused) {
  const ScratchDirectory scratch;
  EXPECT_THAT(refusal(scratch.write("file", std::string(101, 'x'))),
              HasSubstr("expected at most 100 bytes"));
}

TEST(TextFile, OnlyRegularFilesAreOpened) {
  const ScratchDirectory scratch;
  EXPECT_THAT(refusal(scratch.file("none")), HasSubstr("there is no such file"));
  const std::string folder = std::filesystem::path(scratch.file("x")).parent_path();
  EXPECT_THAT(refusal(folder), HasSubstr("is not a regular file"));
  EXPECT_THAT(refusal("/dev/zero"), HasSubstr("is not a regular file"));
  const std::string pipe = scratch.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(refusal(pipe), HasSubstr("is not a regular file")) << "nobody writes to it";
}

}  // namespace
}  // namespace railwave
