#include "report/private_file.hpp"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/event_loop.hpp"
#include "base/fail.hpp"

namespace railwave::report {
namespace {

tl::unexpected<Error> failed(const std::string& path, const char* what) {
  return fail(ErrorCode::InvalidArgument, "output",
              fmt::format("{}: can not {}: {}", path, what, std::strerror(errno)));
}

}  // namespace

Status write_private_file(const std::string& path, std::string_view text) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return failed(path, "open");
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return failed(path, "look at");
  if (S_ISREG(status.st_mode)) {
    // Before the first byte is in it.
    if (::fchmod(file.get(), 0600) != 0) return failed(path, "make private");
    if (::ftruncate(file.get(), 0) != 0) return failed(path, "empty");
  }
  while (!text.empty()) {
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed(path, "write");
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

}  // namespace railwave::report
