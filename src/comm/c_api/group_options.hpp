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

/// Fills `settings` as far as it comes, the rank first.
/// Errors: InvalidArgument naming the field.
Status read_settings(const railwave_group_config& given, const Topology& topology,
                     GroupSettings* settings);

}  // namespace railwave::c_api
