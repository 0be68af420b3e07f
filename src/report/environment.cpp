#include "report/environment.hpp"

#include <array>
#include <cstdlib>
#include <fstream>
#include <thread>

#include <sched.h>
#include <sys/utsname.h>

namespace railwave::report {
namespace {

constexpr double kRailsAtOnce = 0.93;
constexpr double kLoneTransfer = 0.95;

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
  // More cores than cpu_set_t holds.
  return static_cast<int>(std::thread::hardware_concurrency());
}

std::string kernel_name() {
  utsname names{};
  if (uname(&names) != 0) return "unknown";
  return std::string(names.sysname) + ' ' + names.release;
}

std::vector<double> load_average_now() {
  std::array<double, 3> load{};
  const int known = getloadavg(load.data(), static_cast<int>(load.size()));
  return {load.begin(), load.begin() + (known < 0 ? 0 : known)};
}

std::optional<std::string> default_congestion_control() {
  std::ifstream file("/proc/sys/net/ipv4/tcp_congestion_control");
  std::string name;
  if (file >> name) return name;
  return std::nullopt;
}

}  // namespace

Gate judge_gate(double rails_at_once, double lone_transfer) {
  return {rails_at_once, lone_transfer,
          rails_at_once >= kRailsAtOnce && lone_transfer >= kLoneTransfer};
}

Environment environment_now(std::uint64_t seed) {
  Environment now;
  now.cores = usable_cores();
  now.kernel = kernel_name();
  now.load_average = load_average_now();
  now.congestion_control = default_congestion_control();
  now.version = RAILWAVE_VERSION;
  now.seed = seed;
  return now;
}

}  // namespace railwave::report
