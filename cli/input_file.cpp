#include "input_file.hpp"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "base/fail.hpp"

namespace railwave::cli {

Status check_regular(const std::string& path, const char* option) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status) || std::filesystem::is_regular_file(status)) return {};
  return fail(ErrorCode::InvalidArgument, option,
              fmt::format("{} is not a regular file; a folder, pipe or device is not read", path));
}

Result<testbed::ClusterSpec> read_cluster_file(const std::string& path) {
  RAILWAVE_TRY(check_regular(path, "--cluster"));
  return testbed::read_cluster(path);
}

}  // namespace railwave::cli
