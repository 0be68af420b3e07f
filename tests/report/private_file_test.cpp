#include "report/private_file.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scratch_directory.hpp"

namespace railwave::report {
namespace {

class PrivateFileTest : public ::testing::Test {
 protected:
  std::string contents(const std::string& path) {
    std::ostringstream out;
    out << std::ifstream(path).rdbuf();
    return out.str();
  }
  mode_t mode(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status.st_mode & 0777;
  }
  const ScratchDirectory scratch_;
};

TEST_F(PrivateFileTest, IsCreatedForItsOwnerOnly) {
  const std::string path = scratch_.file("a.json");
  const mode_t old = ::umask(0);
  const auto status = write_private_file(path, "text");
  ::umask(old);
  ASSERT_TRUE(status) << to_string(status.error());
  EXPECT_EQ(contents(path), "text");
  EXPECT_EQ(mode(path), 0600U);
}

TEST_F(PrivateFileTest, AnOldFileIsReplacedAndMadePrivate) {
  const std::string path = scratch_.file("b.json");
  std::ofstream(path) << "a longer text than the new one";
  ASSERT_EQ(::chmod(path.c_str(), 0644), 0);
  ASSERT_TRUE(write_private_file(path, "new"));
  EXPECT_EQ(contents(path), "new");
  EXPECT_EQ(mode(path), 0600U);
}

TEST_F(PrivateFileTest, AFolderThatIsNotThereIsNamed) {
  const std::string path = scratch_.file("absent/c.json");
  const auto status = write_private_file(path, "text");
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().field, "output");
  EXPECT_THAT(status.error().message, ::testing::HasSubstr(path));
}

TEST_F(PrivateFileTest, AFullDeviceIsAnError) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  EXPECT_FALSE(write_private_file("/dev/full", "text"));
}

}  // namespace
}  // namespace railwave::report
