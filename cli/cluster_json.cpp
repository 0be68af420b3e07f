#include <nlohmann/json.hpp>

#include "cluster_report.hpp"

namespace railwave::cli {

using Json = nlohmann::ordered_json;

Json cluster_json(const testbed::ClusterSpec& spec) {
  Json out;
  out["nodes"] = spec.nodes();
  out["ranks_per_node"] = spec.ranks_per_node;
  out["rails"] = spec.rails;
  if (!spec.home_rail.empty()) out["home_rail"] = spec.home_rail;
  if (!spec.bridges.empty()) out["bridges"] = spec.bridges;
  if (!spec.live.empty()) out["live"] = spec.live;
  out["rate_bit_s"] = spec.rate;
  if (!spec.rail_rate.empty()) out["rail_rate_bit_s"] = spec.rail_rate;
  out["buffer_bytes"] = spec.buffer;
  out["nic_queue_bytes"] = spec.nic_queue;
  out["burst_bytes"] = spec.burst;
  out["mtu"] = spec.mtu;
  out["congestion"] = spec.congestion;
  out["rto_min_ms"] = spec.rto_min.count();
  return out;
}

Json counters_json(const testbed::Counters& counters) {
  Json rails = Json::array();
  for (std::size_t n = 0; n < counters.rails.size(); ++n) {
    for (std::size_t r = 0; r < counters.rails[n].size(); ++r) {
      const auto& rail = counters.rails[n][r];
      rails.push_back({{"node", n},
                       {"rail", r},
                       {"tx_bytes", rail.tx_bytes},
                       {"rx_bytes", rail.rx_bytes},
                       {"nic_drops", rail.nic_drops},
                       {"port_drops", rail.port_drops}});
    }
  }
  return {{"rails", rails}, {"tcp_retransmissions", counters.tcp_retransmissions}};
}

Json gate_json(const testbed::GateResult& gate) {
  Json flows = Json::array();
  for (const auto& flow : gate.flows) {
    flows.push_back({{"source", flow.source.value},
                     {"egress", flow.egress.value},
                     {"destination", flow.destination.value},
                     {"ingress", flow.ingress.value},
                     {"share", flow.share}});
  }
  return {{"passed", gate.passed()},
          {"machine_is_limit", gate.machine_is_limit},
          {"shaping_works", gate.shaping_works},
          {"lowest_share", gate.lowest_share},
          {"lone_time", gate.lone_time},
          {"tcp_retransmissions", gate.retransmissions},
          {"sentence", gate.sentence()},
          {"flows", flows}};
}

Json run_json(const testbed::RunOutcome& outcome) {
  Json out;
  out["exit_status"] = outcome.exit_status;
  if (outcome.failed_rank.value >= 0) out["failed_rank"] = outcome.failed_rank.value;
  out["timed_out"] = outcome.timed_out;
  out["cancelled"] = outcome.cancelled;
  out["message"] = outcome.message;
  out["statuses"] = outcome.statuses;
  out["seconds"] = outcome.seconds;
  out["traffic"] = counters_json(outcome.traffic);
  return out;
}

}  // namespace railwave::cli
