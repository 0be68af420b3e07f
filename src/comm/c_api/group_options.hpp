// The settings of a group as the C interface gives them.
#pragma once

#include <string>
#include <vector>

#include <railwave/communicator.hpp>
#include <railwave/railwave.h>

namespace railwave::c_api {

struct GroupSettings {
  CommunicatorOptions options;
  std::vector<std::string> rail_devices;  ///< [R]
};

/// Errors: InvalidArgument naming the field.
Result<GroupSettings> settings_of(const railwave_group_config* given, const Topology& topology);

}  // namespace railwave::c_api
