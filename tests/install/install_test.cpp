// The installed tree as others use it: symbols, pkg-config, find_package, the command.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include "cli/command.hpp"
#include "testbed/emulated_cluster.hpp"
#include "testbed/scratch.hpp"

namespace railwave {
namespace {

using testing::HasSubstr;

struct Output {
  int status = -1;
  std::string text;  ///< standard output, then standard error
};

Output run(const std::vector<std::string>& argv, const std::function<void()>& prepare = {}) {
  cli::Command command(argv, prepare);
  Output out;
  out.text = command.rest_of_output();
  out.text += command.errors();
  out.status = command.wait();
  return out;
}

/// The file's text.
std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Everything is installed once, for all tests.
class Install : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    scratch_ = std::make_unique<ScratchDirectory>();
    installed_ = run({RAILWAVE_CMAKE, "--install", RAILWAVE_BUILD_FOLDER, "--prefix", prefix()},
                     [] { ::unsetenv("DESTDIR"); });
  }
  static void TearDownTestSuite() { scratch_.reset(); }
  void SetUp() override { ASSERT_EQ(installed_.status, 0) << installed_.text; }

  static std::string prefix() { return scratch_->file("prefix"); }
  static std::string libraries() { return prefix() + "/" RAILWAVE_LIBDIR; }

  /// Each of the four ranks says that its tokens came back.
  static void expect_round_trip(const std::string& program) {
    RAILWAVE_NEED_CLUSTER();
    const Output out = run({prefix() + "/bin/railwave", "emulate", "--nodes", "2",
                            "--ranks-per-node", "2", "--rails", "2", "--", program},
                           [] { ::unsetenv("LD_LIBRARY_PATH"); });
    EXPECT_EQ(out.status, 0) << out.text;
    for (int rank = 0; rank < 4; ++rank) {
      EXPECT_THAT(out.text, HasSubstr("rank " + std::to_string(rank) + ": received "));
    }
    EXPECT_THAT(out.text, HasSubstr("3 tokens came back right"));
  }

  static inline std::unique_ptr<ScratchDirectory> scratch_;
  static inline Output installed_;
};

TEST_F(Install, TheLibraryExportsTheHeadersFunctionsAndNothingElse) {
  const Output out =
      run({RAILWAVE_NM, "-D", "--defined-only", "--format=posix", libraries() + "/librailwave.so"});
  ASSERT_EQ(out.status, 0) << out.text;
  std::set<std::string> exported;
  std::istringstream lines(out.text);
  for (std::string line; std::getline(lines, line);)
    exported.insert(line.substr(0, line.find(' ')));

  const std::string header = text_of(prefix() + "/include/railwave/railwave.h");
  const std::regex declaration(R"((?:^|\n)[a-z][\w* ]*[ *](railwave_\w+)\()");
  std::set<std::string> declared;
  for (std::sregex_iterator found(header.begin(), header.end(), declaration), end; found != end;
       ++found) {
    declared.insert((*found)[1]);
  }
  EXPECT_EQ(exported, declared);
  EXPECT_TRUE(declared.contains("railwave_dispatch"));
}

TEST_F(Install, FilesLieWhereTheyAreLookedFor) {
  for (const char* file :
       {"/bin/railwave", "/include/railwave/railwave.h", "/include/railwave/railwave.hpp",
        "/share/railwave/tables/paper-h800.json", "/" RAILWAVE_LIBDIR "/librailwave_cpp.a"}) {
    EXPECT_TRUE(std::filesystem::exists(prefix() + file)) << file;
  }
  const std::string pc = text_of(libraries() + "/pkgconfig/railwave.pc");
  EXPECT_THAT(pc, testing::Not(HasSubstr(prefix()))) << "the tree can not be moved";
  EXPECT_THAT(pc, HasSubstr("\nVersion: " RAILWAVE_VERSION "\n"));
}

TEST_F(Install, ACProgramIsBuiltWithPkgConfig) {
  const std::string program = scratch_->file("round_trip_c");
  const Output built = run(
      {"sh", "-c",
       R"("$1" -std=c11 -Wall -Wextra -Werror -pedantic "$2" -o "$3" \
                               $(pkg-config --cflags --libs railwave) -Wl,-rpath,"$4")",
       "sh", RAILWAVE_CC, RAILWAVE_SOURCE_FOLDER "/examples/round_trip.c", program, libraries()},
      [] {
        const auto folder = libraries() + "/pkgconfig";
        ::setenv("PKG_CONFIG_PATH", folder.c_str(), 1);
      });
  ASSERT_EQ(built.status, 0) << built.text;
  EXPECT_EQ(built.text, "");
  const Output alone = run({program}, [] { ::unsetenv("WORLD_SIZE"); });
  EXPECT_EQ(alone.status, 2);
  EXPECT_THAT(alone.text, HasSubstr("run this under railwave emulate"));
  const Output half = run({program}, [] {
    for (const char* name : {"WORLD_SIZE", "LOCAL_WORLD_SIZE"}) ::setenv(name, "1", 1);
    ::setenv("RAILWAVE_RAILS", "-", 1);
    for (const char* name : {"RANK", "MASTER_ADDR", "MASTER_PORT"}) ::unsetenv(name);
  });
  EXPECT_EQ(half.status, 1);
  EXPECT_THAT(half.text, HasSubstr("InvalidArgument{"));
  expect_round_trip(program);
}

TEST_F(Install, ProgramsAreBuiltWithFindPackage) {
  const ScratchDirectory project;
  const std::filesystem::path lists = project.write("CMakeLists.txt", R"(
cmake_minimum_required(VERSION 3.25)
project(user LANGUAGES C CXX)
find_package(railwave ${WANTED} REQUIRED COMPONENTS cpp)
add_executable(in_c ${EXAMPLES}/round_trip.c)
target_link_libraries(in_c PRIVATE railwave::railwave)
add_executable(in_cpp ${EXAMPLES}/round_trip.cpp)
target_link_libraries(in_cpp PRIVATE railwave::cpp)
add_executable(decide ${EXAMPLES}/decide.cpp)
target_link_libraries(decide PRIVATE railwave::cpp)
)");
  const std::string build = project.file("build");
  const Output configured =
      run({RAILWAVE_CMAKE, "-S", lists.parent_path().string(), "-B", build,
           "-DCMAKE_PREFIX_PATH=" + prefix(), "-DCMAKE_C_COMPILER=" RAILWAVE_CC,
           "-DCMAKE_CXX_COMPILER=" RAILWAVE_CXX, "-DWANTED=" RAILWAVE_VERSION,
           "-DEXAMPLES=" RAILWAVE_SOURCE_FOLDER "/examples"});
  ASSERT_EQ(configured.status, 0) << configured.text;
  const Output built = run({RAILWAVE_CMAKE, "--build", build});
  ASSERT_EQ(built.status, 0) << built.text;
  expect_round_trip(build + "/in_c");
  expect_round_trip(build + "/in_cpp");
  const Output decided =
      run({build + "/decide", prefix() + "/share/railwave/tables/paper-h800.json"});
  EXPECT_EQ(decided.status, 0) << decided.text;
  EXPECT_THAT(decided.text, HasSubstr("select: "));
}

}  // namespace
}  // namespace railwave
