// railwave select: which path a phase takes, and why.
#include <filesystem>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/fail.hpp"
#include "report/private_file.hpp"
#include "select/cost_table_file.hpp"
#include "select_options.hpp"
#include "select_report.hpp"
#include "verb.hpp"

namespace railwave::cli {
namespace {

constexpr const char* kExamples = R"(
Says which of native, rail_only, permutation_only and joint a phase takes by a cost table (policy
"paper": the nearest anchor whose payload is within a factor and whose rail skew and receiver
concentration are within a radius, edges included; else joint), why, and by how much the nearest
other anchors missed. A phase is given by its figures, or a trace gives one per layer.

Sizes are powers of 1,024 and read exactly, as are --rho and --kappa. The table must have been made
for this cluster's shape: nodes, ranks per node, rails; --force uses it all the same.

Exit status: 0; 2 for a wrong command line, a malformed table or one for another cluster; 3 for a
table of another version or a schedule that needs more nodes; 4 when there is no answer: two nodes
share no rail, memory, or the output could not be written.

Examples:
  railwave select --bytes 8.75mib --rho 1 --kappa 1
  railwave select --bytes 8.75mib --rho 1.4 --kappa 1 --rails 8
  railwave select --bytes 7mib --rho 1 --kappa 4/3 --nodes 2 --force --json answer.json
  railwave select --table mine.json --bytes 0.45mib --rho 1.1 --kappa 1
  railwave select --table mine.json --trace intent_L26_T8222_K6.u8 --experts 64 --payload-mib 7 \
      --schedule all-at-once
)";

constexpr const char* kShippedTable = "share/railwave/tables/paper-h800.json";

/// The shipped table lies beside the folder of this executable, installed or built.
Result<std::string> table_file(const SelectOptions& options) {
  namespace fs = std::filesystem;
  if (!options.table.empty()) return options.table;
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  const fs::path file = self.parent_path().parent_path() / kShippedTable;
  if (!error && fs::exists(file, error)) return file.string();
  return fail(ErrorCode::InvalidArgument, "--table",
              fmt::format("the shipped table is not at {}; name one with --table", file.string()));
}

Status select_and_report(const SelectOptions& options) {
  const auto file = table_file(options);
  if (!file) return fail(file.error());
  auto table = select::read_cost_table(*file);
  if (!table) return fail(table.error());
  const auto topology = topology_from(options, table->cluster);
  if (!topology) return fail(topology.error());
  const auto cluster = select::ClusterShape::of(*topology);
  const auto selector =
      select::make_selector(*std::move(table), cluster, {select::Policy::Paper, options.force});
  if (!selector) return fail(selector.error());
  const auto phases = phases_from(options, *topology);
  if (!phases) return fail(phases.error());
  std::vector<SelectAnswer> answers;
  for (const SelectPhase& phase : *phases) {
    answers.push_back({phase, (*selector)->explain(phase.descriptors, options.rejected)});
  }
  const SelectGround ground{*file, **selector, cluster};
  fmt::print("{}", select_text(ground, answers));
  if (options.json.empty()) return {};
  return report::write_private_file(options.json, select_json(ground, answers));
}

int run(const SelectOptions& options) {
  const auto done = select_and_report(options);
  return done ? 0 : report(done.error());
}

}  // namespace

void add_select(CLI::App& app, Invocation& invocation) {
  auto* verb = app.add_subcommand("select", "Say which path a phase takes, and why");
  verb->footer(kExamples);
  const auto options = std::make_shared<SelectOptions>();
  add_select_options(*verb, *options);
  verb->callback([&invocation, options] { invocation.run = [options] { return run(*options); }; });
}

}  // namespace railwave::cli
