#include "run_environment.hpp"

#include <cstdio>
#include <cstdlib>

namespace railwave::cli {

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
