// A numeric array as it lies in a file: bytes, element type, shape. Private to the room.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <railwave/error.hpp>

namespace railwave::workload {

/// A little-endian integer type.
struct ElementType {
  int bytes = 1;  ///< 1, 2, 4 or 8
  bool is_signed = false;
};

/// A whole file in memory and where its array starts.
struct ArrayFile {
  std::string path;
  std::vector<std::uint8_t> bytes;
  std::int64_t data_offset = 0;
  ElementType type;
  std::vector<std::int64_t> shape;

  /// Bytes from the start of the file to element `index`.
  [[nodiscard]] std::int64_t offset_of(std::int64_t index) const {
    return data_offset + index * type.bytes;
  }
  /// Element `index`; none for an unsigned value beyond 63 bits.
  [[nodiscard]] std::optional<std::int64_t> at(std::int64_t index) const;
};

/// The bytes of a regular file. Errors: as read_trace.
Result<std::vector<std::uint8_t>> read_file(const std::string& path, std::int64_t max_bytes);

/// Elements of the shape, after checking that exactly these fill the file from data_offset on.
/// Errors: InvalidArgument{trace} with both sizes.
Result<std::int64_t> checked_elements(const ArrayFile& array);

/// "file: sentence" as an error of the trace.
tl::unexpected<Error> trace_error(std::string_view path, const std::string& sentence);

}  // namespace railwave::workload
