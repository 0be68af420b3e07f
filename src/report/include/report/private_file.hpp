// Files that only their owner may read.
#pragma once

#include <string>
#include <string_view>

#include <railwave/error.hpp>

namespace railwave::report {

/// Writes `text` to `path`, created or replaced with mode 0600 whatever the umask and the old mode;
/// a pipe or terminal is written to as it is. Errors: InvalidArgument{output} naming the path and
/// the system's reason.
Status write_private_file(const std::string& path, std::string_view text);

}  // namespace railwave::report
