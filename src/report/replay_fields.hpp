// Every field of the JSON schema once, for writing and reading. Private to the room.
#pragma once

#include <type_traits>

#include "report/replay_result.hpp"

namespace railwave::report {

// `Archive` is called with each field's name and value, in the order in which they are written.

template <class Archive, class T>
void fields(Archive& a, T& v) requires std::is_same_v<std::remove_const_t<T>, Gate> {
  a("rails_at_once", v.rails_at_once);
  a("lone_transfer", v.lone_transfer);
  a("passed", v.passed);
}

template <class Archive, class T>
void fields(Archive& a, T& v) requires std::is_same_v<std::remove_const_t<T>, Environment> {
  a("host", v.host);
  a("cores", v.cores);
  a("kernel", v.kernel);
  a("load_average", v.load_average);
  a("congestion_control", v.congestion_control);
  a("version", v.version);
  a("seed", v.seed);
  a("gate", v.gate);
}

template <class Archive, class T>
void fields(Archive& a, T& v) requires std::is_same_v<std::remove_const_t<T>, ClusterFacts> {
  a("nodes", v.nodes);
  a("ranks_per_node", v.ranks_per_node);
  a("rails", v.rails);
  a("rail_bit_s", v.rail_bit_s);
  a("emulated", v.emulated);
  a("switch_buffer_bytes", v.switch_buffer_bytes);
  a("burst_bytes", v.burst_bytes);
  a("mtu", v.mtu);
}

template <class Archive, class T>
void fields(Archive& a, T& v) requires std::is_same_v<std::remove_const_t<T>, WorkloadFacts> {
  a("trace", v.trace);
  a("routing", v.routing);
  a("schedule", v.schedule);
  a("placement", v.placement);
  a("layers", v.layers);
  a("experts", v.experts);
  a("top_k", v.top_k);
  a("dtype", v.dtype);
  a("hidden", v.hidden);
  a("row_bytes", v.row_bytes);
  a("rows", v.rows);
  a("payload_mib", v.payload_mib);
  a("rail_skew", v.rail_skew);
  a("receiver_concentration", v.receiver_concentration);
  a("fan_in", v.fan_in);
}

template <class Archive, class T>
void fields(Archive& a, T& v) requires std::is_same_v<std::remove_const_t<T>, Breakdown> {
  a("header_s", v.header_s);
  a("plan_s", v.plan_s);
  a("pack_s", v.pack_s);
  a("relocate_s", v.relocate_s);
  a("wire_s", v.wire_s);
  a("reorder_s", v.reorder_s);
}

template <class Archive, class T>
void fields(Archive& a, T& v) requires std::is_same_v<std::remove_const_t<T>, PathResult> {
  a("name", v.name);
  a("start", v.start);
  a("p50_s", v.p50_s);
  a("p95_s", v.p95_s);
  a("p99_s", v.p99_s);
  a("speedup_over_native", v.speedup_over_native);
  a("bound_s", v.bound_s);
  a("path_bound_s", v.path_bound_s);
  a("ratio_to_bound", v.ratio_to_bound);
  a("ratio_to_path_bound", v.ratio_to_path_bound);
  a("wrong", v.wrong);
  a("bits", v.bits);
  a("rail_share_tx", v.rail_share_tx);
  a("rail_share_rx", v.rail_share_rx);
  a("max_fan_in", v.max_fan_in);
  a("overlap_bytes", v.overlap_bytes);
  a("breakdown", v.breakdown);
  a("samples", v.samples);
}

template <class Archive, class T>
void fields(Archive& a, T& v) requires std::is_same_v<std::remove_const_t<T>, ReplayResult> {
  a("cluster", v.cluster);
  a("environment", v.environment);
  a("workload", v.workload);
  a("paths", v.paths);
}

}  // namespace railwave::report
