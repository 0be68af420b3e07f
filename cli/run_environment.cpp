#include "run_environment.hpp"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "base/fail.hpp"

namespace railwave::cli {

Result<testbed::ClusterSpec> cluster_of_this_rank(const char* command) {
  auto spec = testbed::cluster_from_environment();
  if (!spec) return fail(std::move(spec).error());
  if (*spec) return **std::move(spec);
  return fail(ErrorCode::InvalidArgument, "RAILWAVE_CLUSTER",
              fmt::format("this runs on the ranks of an emulated cluster: {}", command));
}

report::ClusterFacts cluster_facts(const testbed::ClusterSpec& spec) {
  report::ClusterFacts out;
  out.nodes = spec.nodes();
  out.ranks_per_node = spec.ranks_per_node;
  out.rails = spec.rails;
  out.rail_bit_s = spec.rate;
  out.emulated = true;
  out.switch_buffer_bytes = spec.buffer;
  out.burst_bytes = spec.burst;
  out.mtu = spec.mtu;
  return out;
}

report::Environment run_environment(const testbed::ClusterSpec& spec, std::uint64_t seed) {
  report::Environment out = report::environment_now(seed);
  out.congestion_control = spec.congestion;
  if (const char* gate = std::getenv(kGateVariable)) {
    double share = 0;
    double lone = 0;
    if (std::sscanf(gate, "%lf %lf", &share, &lone) == 2) {
      out.gate = report::judge_gate(share, lone);
    }
  }
  return out;
}

}  // namespace railwave::cli
