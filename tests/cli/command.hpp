// Runs a command as a child of a test.
#pragma once

#include <array>
#include <cerrno>
#include <csignal>
#include <functional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/event_loop.hpp"

namespace railwave::cli {

/// A child whose standard output is a pipe and whose standard error is another.
class Command {
 public:
  /// `prepare` runs in the child before exec.
  explicit Command(const std::vector<std::string>& argv,
                   const std::function<void()>& prepare = {}) {
    std::array<int, 2> out{};
    std::array<int, 2> err{};
    if (::pipe2(out.data(), O_CLOEXEC) != 0 || ::pipe2(err.data(), O_CLOEXEC) != 0) std::abort();
    std::vector<char*> words;
    for (const auto& word : argv) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(out[1], 1);
      ::dup2(err[1], 2);
      if (prepare) prepare();
      ::execvp(words[0], words.data());
      ::_exit(127);
    }
    ::close(out[1]);
    ::close(err[1]);
    output_ = UniqueFd(out[0]);
    errors_ = UniqueFd(err[0]);
  }
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  ~Command() {
    if (pid_ > 0) ::kill(pid_, SIGKILL);
    (void)wait();
  }

  [[nodiscard]] pid_t pid() const { return pid_; }
  /// The next `count` lines of standard output; fewer at its end.
  std::string read_lines(int count) {
    std::string text;
    for (char c = 0; count > 0 && ::read(output_.get(), &c, 1) == 1; count -= c == '\n') text += c;
    return text;
  }
  std::string rest_of_output() { return read_all(output_.get()); }
  std::string errors() { return read_all(errors_.get()); }
  /// The exit status as a shell gives it. Read the outputs first when they are long.
  int wait() {
    int status = 0;
    while (pid_ > 0 && ::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }

 private:
  static std::string read_all(int fd) {
    std::string text;
    std::array<char, 4096> piece{};
    for (ssize_t n = 0; (n = ::read(fd, piece.data(), piece.size())) > 0;) {
      text.append(piece.data(), static_cast<std::size_t>(n));
    }
    return text;
  }

  pid_t pid_ = -1;
  UniqueFd output_;
  UniqueFd errors_;
};

}  // namespace railwave::cli
