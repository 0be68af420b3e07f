// A result with every optional field set, and one with none.
#pragma once

#include "report/replay_result.hpp"

namespace railwave::report {

inline ReplayResult full_result() {
  ReplayResult r;
  r.cluster = {4, {8, 8, 8, 8}, 8, 50'000'000, true, 65536, 12000, 9000};
  r.environment = {"host-a", 2,       "Linux 6.1.0", {0.5, 0.25, 0.125},
                   "cubic",  "0.1.0", UINT64_MAX,    Gate{0.97, 0.98, true}};
  r.workload = {"intent_L26_T8222_K6.u8",
                "schedule",
                "extreme",
                "sorted",
                2,
                64,
                6,
                "bf16",
                7168,
                14336,
                65536,
                14.0,
                2.66,
                3.0,
                3};
  PathResult native;
  native.name = "native";
  native.start = "barrier";
  native.bound_s = 0.25;
  native.path_bound_s = 1.5;
  native.bits = format_bits(0x1234);
  native.rail_share_tx = {0.5, 0.25, 0.125, 0.125};
  native.rail_share_rx = {0.25, 0.25, 0.25, 0.25};
  native.max_fan_in = 3;
  native.overlap_bytes = 4096;
  native.breakdown = Breakdown{0.001, 0.002, 0.003, 0.004, 0.005};
  native.samples = {std::vector<double>(100, 0.75), std::vector<double>(100, 1.25)};
  PathResult joint = native;
  joint.name = "joint";
  joint.start = "rail-barrier";
  joint.path_bound_s = 0.25;
  joint.max_fan_in = 1;
  joint.samples = {std::vector<double>(20, 0.25), std::vector<double>(20, 0.25)};
  r.paths = {native, joint};
  return r;
}

inline ReplayResult bare_result() {
  ReplayResult r;
  r.cluster = {1, {1}, 1, 1000, false, {}, {}, {}};
  r.environment.kernel = "Linux";
  r.workload.trace = "generated";
  PathResult peer;
  peer.name = "openmpi";
  peer.samples = {{0.5}};
  r.paths = {peer};
  return r;
}

}  // namespace railwave::report
