// Temporary files, captured output and small scripts for tests of the testbed.
#pragma once

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "base/event_loop.hpp"
#include "scratch_directory.hpp"
#include "testbed/cluster.hpp"

namespace railwave::testbed {

using railwave::ScratchDirectory;

/// A file in memory that takes the ranks' output.
class CapturedOutput {
 public:
  CapturedOutput() : file_(::memfd_create("output", MFD_CLOEXEC)) {}
  [[nodiscard]] int descriptor() const { return file_.get(); }
  [[nodiscard]] std::string text() const {
    std::string out(static_cast<std::size_t>(::lseek(file_.get(), 0, SEEK_END)), '\0');
    const auto count = ::pread(file_.get(), out.data(), out.size(), 0);
    out.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
    return out;
  }
  /// Sorted, since ranks write in any order.
  [[nodiscard]] std::vector<std::string> lines() const {
    std::vector<std::string> out;
    std::istringstream all(text());
    for (std::string line; std::getline(all, line);) out.push_back(line);
    std::sort(out.begin(), out.end());
    return out;
  }

 private:
  UniqueFd file_;
};

inline RunOptions shell(const std::string& script, const CapturedOutput& output) {
  RunOptions options;
  options.argv = {"sh", "-c", script};
  options.stdout_fd = output.descriptor();
  options.stderr_fd = output.descriptor();
  options.deadline = Clock::now() + std::chrono::seconds(10);
  return options;
}

}  // namespace railwave::testbed
