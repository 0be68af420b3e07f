#include "base/text_file.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include <fmt/format.h>

#include "base/fail.hpp"

namespace railwave {

Result<std::string> read_text_file(const std::string& path, const char* field,
                                   std::size_t most_bytes) {
  const auto refuse = [&](const std::string& sentence) {
    return fail(ErrorCode::InvalidArgument, field, fmt::format("{}: {}", path, sentence));
  };
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return refuse("there is no such file");
  if (!std::filesystem::is_regular_file(status)) {
    return refuse("is not a regular file; a folder, pipe or device is not read");
  }
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return refuse(fmt::format("can not be opened: {}", std::strerror(errno)));
  std::string text;
  for (std::string piece(1 << 16, '\0'); file;) {
    file.read(piece.data(), std::ssize(piece));
    text.append(piece, 0, static_cast<std::size_t>(file.gcount()));
    if (text.size() > most_bytes) {
      return refuse(fmt::format("expected at most {} bytes", most_bytes));
    }
  }
  if (!file.eof()) return refuse(fmt::format("can not be read: {}", std::strerror(errno)));
  return text;
}

}  // namespace railwave
