#include "array_file.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/checked.hpp"
#include "base/fail.hpp"

namespace railwave::workload {

tl::unexpected<Error> trace_error(std::string_view path, const std::string& sentence) {
  return fail(ErrorCode::InvalidArgument, "trace", fmt::format("{}: {}", path, sentence));
}

std::optional<std::int64_t> ArrayFile::at(std::int64_t index) const {
  const std::uint8_t* first = bytes.data() + offset_of(index);
  std::uint64_t value = 0;
  for (int i = type.bytes - 1; i >= 0; --i) value = value << 8 | first[i];
  if (type.is_signed) {
    const int unused = 64 - 8 * type.bytes;
    return static_cast<std::int64_t>(value << unused) >> unused;
  }
  if (value > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

Result<std::vector<std::uint8_t>> read_file(const std::string& path, std::int64_t max_bytes) {
  std::error_code status;
  if (!std::filesystem::is_regular_file(path, status)) {
    return trace_error(path, "no such regular file");
  }
  const auto size = std::filesystem::file_size(path, status);
  if (status) return trace_error(path, "its size can not be read: " + status.message());
  if (std::cmp_greater(size, max_bytes)) {
    Error error{ErrorCode::ResourceExhausted, -1, "trace",
                fmt::format("{}: {} bytes are more than the {} that a trace may have", path, size,
                            max_bytes)};
    error.need = static_cast<std::int64_t>(size);
    error.have = max_bytes;
    return fail(std::move(error));
  }
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (!file) return trace_error(path, std::string("can not be opened: ") + std::strerror(errno));
  std::vector<std::uint8_t> bytes(size);
  const std::size_t got = std::fread(bytes.data(), 1, bytes.size(), file.get());
  if (got != bytes.size()) {
    return trace_error(path, fmt::format("ends at byte {}, expected {} bytes", got, size));
  }
  return bytes;
}

Result<std::int64_t> checked_elements(const ArrayFile& array) {
  std::optional<std::int64_t> elements = 1;
  for (const std::int64_t extent : array.shape) {
    if (elements) elements = checked_mul(*elements, extent);
  }
  const auto data = elements ? checked_mul(*elements, array.type.bytes) : std::nullopt;
  const auto have = static_cast<std::int64_t>(array.bytes.size()) - array.data_offset;
  if (!data || *data != have) {
    return trace_error(
        array.path,
        fmt::format(
            "shape [{}] of {}-byte elements needs {} bytes from byte {} on, the file has {}",
            fmt::join(array.shape, ", "), array.type.bytes,
            data ? std::to_string(*data) : "more than 2^63", array.data_offset, have));
  }
  return *elements;
}

}  // namespace railwave::workload
