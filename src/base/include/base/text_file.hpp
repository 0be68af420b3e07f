// Texts that users write: tables, plans, clusters.
#pragma once

#include <cstddef>
#include <string>

#include <railwave/error.hpp>

namespace railwave {

/// The whole of a regular file of at most `most_bytes`; never waits for a pipe or a device.
/// Errors: InvalidArgument{field}, "PATH: ..." with what is wrong.
Result<std::string> read_text_file(const std::string& path, const char* field,
                                   std::size_t most_bytes);

}  // namespace railwave
