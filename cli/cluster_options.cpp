#include "cluster_options.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/fail.hpp"
#include "base/units.hpp"
#include "limits.hpp"
#include "number_options.hpp"

namespace railwave::cli {

void add_cluster_options(CLI::App& verb, ClusterOptions& options) {
  auto* file = verb.add_option("--cluster", options.cluster, "a cluster.toml instead of the rest")
                   ->type_name("FILE");
  const auto add = [&](const char* name, std::string& value, const char* text, const char* type) {
    verb.add_option(name, value, text)->type_name(type)->capture_default_str()->excludes(file);
  };
  const auto count = [&](const OptionText& text, WholeRange range, int& value) {
    add_whole(verb, text, range, value)->excludes(file);
  };
  count({"--nodes", "emulated machines", "N"}, {1, kMostNodes}, options.nodes);
  count({"--ranks-per-node", "processes on each", "G"}, {1, kMostRanksPerNode},
        options.ranks_per_node);
  count({"--rails", "networks, and network cards on each node", "R"}, {1, kMostRails},
        options.rails);
  add("--rate", options.rate, "of a rail, powers of 1,000", "RATE");
  add("--buffer", options.buffer, "queue of a switch port, powers of 1,024", "SIZE");
  add("--nic-queue", options.nic_queue, "queue of a network card", "SIZE");
  add("--burst", options.burst, "token bucket of both, at least a frame", "SIZE");
  count({"--mtu", "of the rails, in bytes", "BYTES"}, {576, 65'000}, options.mtu);
  add("--congestion", options.congestion, "TCP congestion control of the rails", "NAME");
  add("--rto-min", options.rto_min, "least TCP retransmission time", "TIME");
}

Result<testbed::ClusterSpec> cluster_from(const ClusterOptions& options) {
  if (!options.cluster.empty()) return testbed::read_cluster(options.cluster);
  auto spec = testbed::uniform_cluster(options.nodes, options.ranks_per_node, options.rails);
  const auto rate = parse_rate(options.rate, "--rate");
  if (!rate) return fail(rate.error());
  spec.rate = *rate;
  struct Size {
    const char* name;
    const std::string& text;
    std::int64_t& value;
  };
  for (const auto& size : {Size{"--buffer", options.buffer, spec.buffer},
                           Size{"--nic-queue", options.nic_queue, spec.nic_queue},
                           Size{"--burst", options.burst, spec.burst}}) {
    const auto value = parse_size(size.text, size.name);
    if (!value) return fail(value.error());
    size.value = *value;
  }
  const auto rto_min = testbed::parse_milliseconds(options.rto_min, "--rto-min");
  if (!rto_min) return fail(rto_min.error());
  spec.rto_min = std::chrono::milliseconds(*rto_min);
  spec.mtu = options.mtu;
  spec.congestion = options.congestion;
  RAILWAVE_TRY(testbed::validate(spec));
  return spec;
}

}  // namespace railwave::cli
