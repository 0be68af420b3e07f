// railwave bench: times by size, in the manner of nccl-tests.
#include "bench.hpp"

#include <memory>

#include <CLI/CLI.hpp>

#include "base/fail.hpp"
#include "emulated_run.hpp"
#include "verb.hpp"

namespace railwave::cli {
namespace {

constexpr const char* kExamples = R"(
Measures by size, in the manner of nccl-tests: "#" lines about the run, then a line for each path
and size with times, bandwidths and #wrong. docs/bench.md says what every column counts. By itself it
runs on an emulated cluster of its own; inside one (railwave emulate) it runs there.

dispatch, combine and round-trip time the library: every token of every rank goes to --top-k
different random experts and back. p2p, incast and permute move plain bytes over TCP along the rails,
without the library: what is slow there, no plan can mend.

Exit status: 0; 1 when something came out wrong or a run failed; 2 for a wrong command line; 3 when
this system can not emulate a cluster; 4 when there is nothing to measure: two nodes share no rail,
memory, or the output could not be written.

Examples:
  railwave bench round-trip
  railwave bench dispatch -b 56kb -e 896kb -f 2 -n 20 --paths native,joint --json dispatch.json
  railwave bench round-trip --nodes 1 --ranks-per-node 8 --hidden 7168 --tokens 1024 --top-k 8 --experts 64
  railwave bench p2p -b 256kb -e 1mb
  railwave bench incast --receiver 2 -n 5
  railwave emulate --cluster cluster.toml -- railwave bench permute
)";

Result<testbed::ClusterSpec> own_cluster(const BenchOptions& options) {
  auto spec = cluster_from(options.cluster);
  // Nothing in a node uses a rail.
  if (spec && spec->nodes() == 1 && options.cluster.cluster.empty()) spec->rails = 1;
  return spec;
}

Result<int> run_here(const BenchOptions& options) {
  const auto inside = testbed::cluster_from_environment();
  if (!inside) return fail(inside.error());
  const auto spec = *inside ? Result<testbed::ClusterSpec>(**inside) : own_cluster(options);
  if (!spec) return fail(spec.error());
  const auto request = understand(options, spec->nodes());
  if (!request) return fail(request.error());
  if (!*inside) {
    return run_on_emulated(
        {*spec, "bench " + options.operation, !options.no_gate, options.timeout});
  }
  return is_network(options) ? bench_network(options, *request, *spec)
                             : bench_exchange(options, *request, *spec);
}

int run(const BenchOptions& options) {
  const auto status = run_here(options);
  return status ? *status : report(status.error());
}

using AddOptions = void (*)(CLI::App&, BenchOptions&);

void add_operation(CLI::App& verb, Invocation& invocation,
                   const std::pair<const char*, const char*>& name, AddOptions add_options) {
  auto* operation = verb.add_subcommand(name.first, name.second);
  const auto options = std::make_shared<BenchOptions>();
  options->operation = name.first;
  add_options(*operation, *options);
  operation->callback(
      [&invocation, options] { invocation.run = [options] { return run(*options); }; });
}

}  // namespace

void add_bench(CLI::App& app, Invocation& invocation) {
  auto* verb = app.add_subcommand("bench", "Measure the exchange, or the rails alone, by size");
  verb->require_subcommand(1);
  verb->footer(kExamples);
  for (const std::pair<const char*, const char*>& name :
       {std::pair{"dispatch", "Rows to the ranks of their experts"},
        std::pair{"combine", "Rows back to their tokens, summed"},
        std::pair{"round-trip", "Both, one after the other"}}) {
    add_operation(*verb, invocation, name, add_exchange_options);
  }
  for (const std::pair<const char*, const char*>& name :
       {std::pair{"p2p", "One sender and one receiver, rail by rail"},
        std::pair{"incast", "All nodes to one of them, on every rail at once"},
        std::pair{"permute", "Every node to the next one, on every rail at once"}}) {
    add_operation(*verb, invocation, name, add_network_options);
  }
}

}  // namespace railwave::cli
