// Files that verbs read.
#pragma once

#include <string>

#include <railwave/error.hpp>

#include "testbed/cluster_spec.hpp"

namespace railwave::cli {

/// Before a file is opened, which of a pipe would wait for a writer. What does not exist passes:
/// its reader says so. Errors: InvalidArgument{option} for what is not a regular file.
Status check_regular(const std::string& path, const char* option);

/// The file of --cluster. Errors: as check_regular() and testbed::read_cluster().
Result<testbed::ClusterSpec> read_cluster_file(const std::string& path);

}  // namespace railwave::cli
