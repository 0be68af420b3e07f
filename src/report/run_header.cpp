#include "run_header.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/units.hpp"
#include "report/table.hpp"

namespace railwave::report {
namespace {

constexpr const char* kAbsent = "-";

std::string cluster_line(const ClusterFacts& c) {
  const bool even = std::ranges::adjacent_find(c.ranks_per_node, std::ranges::not_equal_to{}) ==
                    c.ranks_per_node.end();
  const std::string ranks = even && !c.ranks_per_node.empty()
                                ? fmt::format("{}", c.ranks_per_node.front())
                                : fmt::format("{}", fmt::join(c.ranks_per_node, ","));
  // Between the ranks of one node no rail is used.
  if (c.nodes == 1) return comment(fmt::format("cluster      1 node x {} ranks, no rails", ranks));
  std::string out =
      fmt::format("cluster      {} nodes x {} ranks, {} rails of {}{}", c.nodes, ranks, c.rails,
                  format_rate(c.rail_bit_s), c.emulated ? ", emulated" : "");
  if (c.switch_buffer_bytes) out += ", switch buffer " + format_size(*c.switch_buffer_bytes);
  if (c.burst_bytes) out += ", burst " + format_size(*c.burst_bytes);
  if (c.mtu) out += fmt::format(", MTU {}", *c.mtu);
  return comment(out);
}

std::string environment_line(const Environment& e) {
  std::string out = fmt::format(
      "environment  railwave {}, {}, {} cores, load {:.2f}, congestion "
      "control {}, seed {}",
      e.version, e.kernel, e.cores, fmt::join(e.load_average, " "),
      e.congestion_control.value_or(kAbsent), e.seed);
  if (e.host) out += ", host " + *e.host;
  return comment(out);
}

std::string gate_line(const Environment& e) {
  if (!e.gate) return comment("gate         not run");
  return comment(fmt::format(
      "gate         {}: rails at once {:.3f} of nominal, lone transfer {:.3f} of its least time",
      e.gate->passed ? "passed" : "FAILED, the machine is the limit", e.gate->rails_at_once,
      e.gate->lone_transfer));
}

}  // namespace

std::string run_header(const ClusterFacts& cluster, const Environment& environment) {
  const std::string out = cluster_line(cluster) + environment_line(environment);
  // One node has no rails to check.
  return cluster.nodes == 1 && !environment.gate ? out : out + gate_line(environment);
}

}  // namespace railwave::report
