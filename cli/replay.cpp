// railwave replay: the same routing by every path, verified and timed.
#include "replay.hpp"

#include <memory>

#include <CLI/CLI.hpp>

#include "base/fail.hpp"
#include "emulated_run.hpp"
#include "verb.hpp"

namespace railwave::cli {
namespace {

constexpr const char* kExamples = R"(
Moves a trace's rows by every path, dispatch and combine, over real processes and rate-limited
rails, checks every byte that comes back and quotes the times against the physical bound. By itself
it runs on an emulated cluster of its own; inside one (railwave emulate) it runs there.

A sample is one dispatch and one combine of one layer, each from a common start to the last rank's
end, with planning, packing, relocation and reordering inside. Paths take turns; each has a group
of its own, so that one path's losses do not slow the connections of the next. Times are sums over layers of each
layer's quantile.

Exit status: 0; 1 when a row was wrong or a run failed; 2 for a wrong command line; 3 when this
system can not emulate a cluster; 4 when there is nothing to measure: two nodes share no rail,
memory, or the output could not be written.

Examples:
  railwave replay
  railwave replay --schedule ring --layers 4 --repeats 20 --json ring.json
  railwave replay --trace intent_L26_T8222_K6.u8 --experts 64 --schedule extreme
  railwave replay --trace intent_L26_T8222_K6.u8 --experts 64 --routing trace --max-tokens 32
  railwave emulate --cluster cluster.toml -- railwave replay --paths native,joint
)";

Result<int> on_emulated(const ReplayOptions& options) {
  const auto spec = cluster_from(options.cluster);
  if (!spec) return fail(spec.error());
  return run_on_emulated({*spec, "replay", !options.no_gate, options.timeout});
}

int run(const ReplayOptions& options) {
  const auto request = understand(options);
  if (!request) return report(request.error());
  const auto spec = testbed::cluster_from_environment();
  if (!spec) return report(spec.error());
  const auto status = *spec ? replay_as_rank(options, *request, **spec) : on_emulated(options);
  return status ? *status : report(status.error());
}

}  // namespace

void add_replay(CLI::App& app, Invocation& invocation) {
  auto* verb = app.add_subcommand("replay", "Replay a routing trace by every path and compare");
  verb->footer(kExamples);
  const auto options = std::make_shared<ReplayOptions>();
  add_replay_options(*verb, *options);
  verb->callback([&invocation, options] { invocation.run = [options] { return run(*options); }; });
}

}  // namespace railwave::cli
