// How the ranks of a measurement that makes no group find each other.
#pragma once

#include <memory>

#include <railwave/error.hpp>
#include <railwave/ids.hpp>

#include "comm/bootstrap.hpp"

namespace railwave::cli {

struct LaunchMeeting {
  RankId self;
  std::unique_ptr<comm::AllGather> all_gather;
};

/// Meets the other ranks by the launcher's variables, within 30 s.
/// Errors: InvalidArgument for the variables; Timeout naming who is late.
Result<LaunchMeeting> meet_launched_ranks();

}  // namespace railwave::cli
