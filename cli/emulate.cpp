// railwave emulate: run a command on every rank of an emulated cluster.
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/fail.hpp"
#include "base/strict_json.hpp"
#include "cluster_options.hpp"
#include "cluster_report.hpp"
#include "end_signals.hpp"
#include "number_options.hpp"
#include "report/private_file.hpp"
#include "testbed/cluster.hpp"
#include "verb.hpp"

namespace railwave::cli {
namespace {

constexpr const char* kExamples = R"(
Usage: railwave emulate [OPTIONS] -- COMMAND ARGS...

Everything after "--" is the command; it is started once per rank, with torchrun's variables
(RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT) and RAILWAVE_NODE,
RAILWAVE_JOB, RAILWAVE_RAILS and RAILWAVE_CLUSTER. No root, no GPU, nothing left behind.

Exit status: that of the rank that failed first; 128 + n when signal n killed it; 124 when the time
was up; 130 or 143 after Ctrl-C or SIGTERM. 1 when the gate of --check fails, 2 for a wrong command
line, 3 when this system can not emulate a cluster, 4 when two nodes share no rail.

Examples:
  railwave emulate --tag-output -- hostname
  railwave emulate --nodes 2 --ranks-per-node 4 --rails 4 --rate 100mbit -- python3 train.py
  railwave emulate --check
  railwave emulate --cluster cluster.toml --check --json result.json -- railwave replay
)";

struct EmulateOptions {
  ClusterOptions cluster;
  bool check = false;
  bool tag_output = false;
  double timeout = 3600;
  std::string json;
};

class Emulation {
 public:
  Emulation(const EmulateOptions& options, std::vector<std::string> command)
      : options_(options), command_(std::move(command)) {}
  int run();

 private:
  Status check_gate(testbed::Cluster& cluster);
  Status run_command(testbed::Cluster& cluster);
  Status write_json(const testbed::ClusterSpec& spec) const;

  const EmulateOptions& options_;
  std::vector<std::string> command_;
  std::optional<testbed::GateResult> gate_;
  std::optional<testbed::RunOutcome> outcome_;
  int signal_ = 0;
};

Status Emulation::check_gate(testbed::Cluster& cluster) {
  auto gate = cluster.gate();
  if (!gate) return fail(gate.error());
  gate_ = *std::move(gate);
  fmt::print(stderr, "# gate: {}\n", gate_->sentence());
  return {};
}

Status Emulation::run_command(testbed::Cluster& cluster) {
  // Before this a signal ends us at once, and with us the cluster.
  EndSignals signals;
  testbed::RunOptions run;
  run.argv = command_;
  run.tag_output = options_.tag_output;
  run.cancel_fd = signals.descriptor();
  run.deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                    std::chrono::duration<double>(options_.timeout));
  auto outcome = cluster.run(run);
  if (!outcome) return fail(outcome.error());
  outcome_ = *std::move(outcome);
  fmt::print(stderr, "{}", counters_table(outcome_->traffic));
  if (outcome_->cancelled) signal_ = signals.arrived();
  if (!outcome_->message.empty()) fmt::print(stderr, "railwave: {}\n", outcome_->message);
  return {};
}

Status Emulation::write_json(const testbed::ClusterSpec& spec) const {
  if (options_.json.empty()) return {};
  nlohmann::ordered_json out;
  out["schema"] = "railwave.emulate/1";
  out["cluster"] = cluster_json(spec);
  if (gate_) out["gate"] = gate_json(*gate_);
  if (outcome_) out["run"] = run_json(*outcome_);
  return report::write_private_file(options_.json, json_text(out));
}

int Emulation::run() {
  if (command_.empty() && !options_.check) {
    return report({ErrorCode::InvalidArgument, -1, "command",
                   "nothing to do: give a command after --, or --check; see railwave emulate "
                   "--help"});
  }
  const auto spec = cluster_from(options_.cluster);
  if (!spec) return report(spec.error());
  auto cluster = testbed::Cluster::start(*spec);
  if (!cluster) return report(cluster.error());
  fmt::print(stderr, "{}", topology_text(*spec));
  if (options_.check) {
    if (const auto checked = check_gate(*cluster); !checked) return report(checked.error());
  }
  const bool go_on = !command_.empty() && (!gate_ || gate_->shaping_works);
  if (go_on) {
    if (const auto ran = run_command(*cluster); !ran) return report(ran.error());
  }
  if (const auto written = write_json(*spec); !written) return report(written.error());
  if (signal_ != 0) return 128 + signal_;
  if (outcome_) return outcome_->exit_status;
  return gate_->passed() ? 0 : 1;
}

}  // namespace

void add_emulate(CLI::App& app, Invocation& invocation) {
  auto* verb = app.add_subcommand("emulate", "Run a command on an emulated multi-rail cluster");
  verb->footer(kExamples);
  const auto options = std::make_shared<EmulateOptions>();
  add_cluster_options(*verb, options->cluster);
  verb->add_flag("--check", options->check, "first measure whether the rails are the limit");
  verb->add_flag("--tag-output", options->tag_output, "begin every line of output with [rank]");
  add_real(*verb, {"--timeout", "end the command after this many seconds", "S"}, kTimeoutSeconds,
           options->timeout);
  verb->add_option("--json", options->json, "write cluster, gate and counters to a file")
      ->type_name("FILE");
  verb->callback([&invocation, options] {
    invocation.takes_command = true;
    invocation.run = [&invocation, options] {
      return Emulation(*options, invocation.command).run();
    };
  });
}

}  // namespace railwave::cli
