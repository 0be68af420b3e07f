// railwave describe: how uneven a trace is on a cluster, before a byte moves.
#include <cstdlib>
#include <memory>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "describe_traffic.hpp"
#include "limits.hpp"
#include "number_options.hpp"
#include "report/private_file.hpp"
#include "verb.hpp"

namespace railwave::cli {
namespace {

constexpr const char* kExamples = R"(
Lays a routing trace on a cluster, experts dealt out contiguously, and says for every layer and for
all together: the load of experts and of source and destination rails (largest over mean, share of
the busiest), the demand between nodes, and what the selector sees: B, rho, kappa, phi. Then how far
the experts' imbalance explains that of the rails (the paper's Fig. 2(b)), maps of the demand, bars
of the rails. Nothing is sent. docs/formats/describe.md defines every figure.

Tokens are dealt to the ranks in equal contiguous parts. A trace of counts names its sources, or
none: then every rank sends alike.

Exit status: 0; 2 for a wrong option or trace; 3 for a trace format that is not read; 4 when there is
no answer: two nodes share no rail, memory, or the output could not be written. Colours only on a
terminal, and not with NO_COLOR.

Examples:
  railwave describe
  railwave describe --trace intent_L26_T8222_K6.u8 --experts 64 --nodes 4 --ranks-per-node 8
  railwave describe --cluster cluster.toml --trace run.npy
  railwave describe --trace expert_counts.csv:law --windows extreme --json law.json
  railwave describe --trace counts_I20_L24_R16_M4_E32.u16le --nodes 8 --ranks-per-node 4 --layers 0
)";

report::Shades shades_of_output() {
  const auto set = [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0';
  };
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal == nullptr || std::string_view(terminal) == "dumb";
  return ::isatty(STDOUT_FILENO) == 1 && !set("NO_COLOR") && !dumb ? report::Shades::Colours
                                                                   : report::Shades::Characters;
}

int run(const DescribeOptions& options) {
  const auto description = describe_traffic(options);
  if (!description) return report(description.error());
  fmt::print("{}", report::to_table(*description, shades_of_output(), options.layers));
  if (options.json.empty()) return 0;
  const auto written = report::write_private_file(options.json, report::to_json(*description));
  return written ? 0 : report(written.error());
}

}  // namespace

void add_describe(CLI::App& app, Invocation& invocation) {
  auto* verb = app.add_subcommand("describe", "Imbalance and demand of a routing trace");
  verb->footer(kExamples);
  const auto o = std::make_shared<DescribeOptions>();
  const auto add = [&](const char* name, std::string& value, const char* text, const char* type) {
    return verb->add_option(name, value, text)->type_name(type)->capture_default_str();
  };
  add("--trace", o->trace, "routing trace (docs/formats/trace.md); none: a generated one", "FILE");
  add_whole(*verb, {"--experts", "experts of the trace; 0: the file says it", "E"},
            {0, kMostExperts}, o->experts);
  auto* cluster = add("--cluster", o->cluster, "cluster.toml (docs/formats/cluster.md)", "FILE");
  add_whole(*verb, {"--nodes", "nodes", "N"}, {1, kMostNodes}, o->nodes)->excludes(cluster);
  add_whole(*verb, {"--ranks-per-node", "ranks of each", "G"}, {1, kMostRanksPerNode},
            o->ranks_per_node)
      ->excludes(cluster);
  add_whole(*verb, {"--rails", "rails of each; 0: as many as ranks", "R"}, {0, kMostRails},
            o->rails)
      ->excludes(cluster);
  add("--windows", o->windows, "as submitted, for kappa and phi (docs/schedules.md)", "NAME")
      ->check(CLI::IsMember({"all-at-once", "moderate", "extreme", "waves"}));
  add_whole(*verb, {"--hidden", "elements of a row", "H"}, kFromOne, o->hidden);
  add("--dtype", o->dtype, "element type of a row", "NAME")
      ->check(CLI::IsMember({"bf16", "fp16", "fp32"}));
  add_whole(*verb, {"--layers", "rows of the table at most; figures are of all layers", "L"},
            {0, kMostLayers}, o->layers);
  add_seed(*verb, "of the generated trace", o->seed);
  add("--json", o->json, "write all figures (docs/formats/describe.md)", "FILE");
  verb->callback([&invocation, o] { invocation.run = [o] { return run(*o); }; });
}

}  // namespace railwave::cli
