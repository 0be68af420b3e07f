// Traces from files: raw arrays, .npy and CSV counts (docs/formats/trace.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workload/trace.hpp"

namespace railwave::workload {

/// What the numbers of an array are when neither its name nor its rank tells.
enum class TraceContent : std::uint8_t { FromFile = 0, Ids = 1, Counts = 2 };

struct TraceReadOptions {
  int experts = 0;                                 ///< E of an id trace; 0: as the file says
  TraceContent content = TraceContent::FromFile;   ///< .npy only
  std::string task{};                              ///< CSV only: the rows of this task or batch
  std::int64_t max_bytes = std::int64_t{4} << 30;  ///< larger files are refused
};

/// Reads a trace; the ending of `path` names the format. `path:task` chooses a task of a CSV file.
/// Nothing is allocated beyond what the file's size justifies.
/// Errors: InvalidArgument{trace} naming the file, the line or byte offset and what was expected;
/// Unsupported{trace} for an ending, element type or npy version that is not read;
/// ResourceExhausted{trace} above max_bytes.
Result<Trace> read_trace(const std::string& path, const TraceReadOptions& options = {});

/// The same from the bytes of a file called `name`, whose ending tells the format and whose parts
/// tell a raw array's shape. Errors: as read_trace, naming `name`.
Result<Trace> decode_trace(const std::string& name, std::vector<std::uint8_t> bytes,
                           const TraceReadOptions& options = {});

}  // namespace railwave::workload
