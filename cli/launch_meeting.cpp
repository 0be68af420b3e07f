#include "launch_meeting.hpp"

#include <chrono>
#include <utility>

#include "base/event_loop.hpp"
#include "base/fail.hpp"

namespace railwave::cli {

Result<LaunchMeeting> meet_launched_ranks() {
  auto identity = comm::identity_from_environment();
  if (!identity) return fail(std::move(identity).error());
  const RankId self(identity->rank);
  comm::TcpBootstrapOptions bootstrap;
  bootstrap.identity = *std::move(identity);
  bootstrap.deadline = Clock::now() + std::chrono::seconds(30);
  auto met = comm::meet_over_tcp(bootstrap);
  if (!met) return fail(std::move(met).error());
  return LaunchMeeting{self, *std::move(met)};
}

}  // namespace railwave::cli
