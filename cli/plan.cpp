// railwave plan: what one phase would do on one path, before a byte moves.
#include <cstdio>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/fail.hpp"
#include "limits.hpp"
#include "number_options.hpp"
#include "plan_answers.hpp"
#include "plan_paths.hpp"
#include "plan_phase.hpp"
#include "plan_summary.hpp"
#include "plan_view.hpp"
#include "report/plan_json.hpp"
#include "report/private_file.hpp"
#include "report/table.hpp"
#include "verb.hpp"

namespace railwave::cli {
namespace {

constexpr const char* kExamples = R"(
Plans one dispatch of a workload and shows it: windows, who sends to whom, rail loads before and
after, how many records leave their home rail, and the bounds. Takes the options of `railwave
replay` that say which phase on which cluster; nothing is sent.

Paths: native, rail_only, permutation_only, joint, and what others plan: birkhoff, linear, pairwise,
spray. Bounds are in records on the busiest rail (over its weight, where rails differ): LB1 holds
whatever the plan; a path's bound is the sum over its windows of the largest load on a rail, or the
longest chain when windows run free.

--check reads a saved plan instead of making one: what is wrong with it is listed. --explain and
--compare then speak of that plan.

Exit status: 0; 1 when --check finds a fault or --compare a difference; 2 for a wrong command line
or file; 3 for a schedule that needs more nodes or a file of another version; 4 when there is no
answer: two nodes share no rail, memory, or the output could not be written.

Examples:
  railwave plan
  railwave plan --cluster cluster.toml --routing trace --path joint
  railwave plan --trace intent_L26_T8222_K6.u8 --experts 64 --schedule ring --layer 3 --path native
  railwave plan --trace intent_L26_T8222_K6.u8 --experts 64 --paths all
  railwave plan --trace intent_L26_T8222_K6.u8 --experts 64 --payload-mib 0 --paths native,joint
                                         the whole trace: the paper's 2.66, 4.43 and 7.08
  railwave plan --explain 0,1            every segment of what node 0 sends to node 1
  railwave plan --explain 0,1,2,13       record 13 of home rail 2: which rail, who, when and why
  railwave plan --save joint.json
  railwave plan --check joint.json
  railwave plan --path rail_only --compare joint.json
)";

struct PlanOptions {
  PhaseOptions phase{};
  std::vector<std::string> paths{};
  bool schedule_given = false;
  std::string save{};
  std::string check{};
  std::string given_for_planning{};  ///< (set) an option that --check does not look at
  std::string compare{};
  std::vector<std::int64_t> explain{};
  std::string json{};
};

/// "all", or names. Errors: InvalidArgument{--paths}.
Result<std::vector<Path>> paths_of(const std::vector<std::string>& names) {
  std::vector<Path> paths;
  if (names.size() == 1 && names.front() == "all") {
    paths.assign(kAllPaths.begin(), kAllPaths.end());
    paths.insert(paths.end(), kBaselinePaths.begin(), kBaselinePaths.end());
    return paths;
  }
  for (const std::string& name : names) {
    const auto path = path_from_string(name);
    if (!path) {
      return fail(ErrorCode::InvalidArgument, "--paths",
                  fmt::format("'{}' is no path; write all, or names like native,joint", name));
    }
    paths.push_back(*path);
  }
  return paths;
}

Result<int> show_paths(const PlanOptions& options) {
  const auto paths = paths_of(options.paths);
  if (!paths) return fail(paths.error());
  std::vector<std::string> schedules{options.phase.workload.schedule};
  if (!options.schedule_given) {
    schedules.clear();
    for (const auto schedule : workload::kAllSchedules) schedules.emplace_back(to_string(schedule));
  }
  const auto bounds = bounds_by_path(options.phase.workload, schedules, *paths);
  if (!bounds) return fail(bounds.error());
  fmt::print("{}", paths_tables(bounds->rows, *paths));
  if (!options.json.empty()) {
    RAILWAVE_TRY(report::write_private_file(options.json,
                                            summary_json(options.phase.workload, *bounds, *paths)));
  }
  return 0;
}

/// The plan that the command speaks of, and where it comes from.
struct Subject {
  std::optional<PhaseSource> source{};          ///< absent for a file
  std::optional<plan::DispatchPlan> planned{};  ///< absent for a file
  std::optional<plan::RecordedPlan> plan{};     ///< (set)
  std::optional<PhaseLayer> layer{};            ///< absent for a file
};

Result<Subject> planned_subject(const PhaseOptions& phase) {
  Subject subject;
  auto source = phase_source(phase.workload);
  if (!source) return fail(std::move(source).error());
  auto layer = source->layer(phase.layer);
  if (!layer) return fail(std::move(layer).error());
  auto planned = source->plan(*layer, *path_from_string(phase.path));
  if (!planned) return fail(std::move(planned).error());
  subject.layer = *std::move(layer);
  subject.source = *std::move(source);
  subject.planned = *std::move(planned);
  subject.plan = record(*subject.planned);
  return subject;
}

Result<int> show_plan(const PlanOptions& options, const Subject& subject) {
  fmt::print("{}#\n{}#\n{}", phase_lines(*subject.source, *subject.layer, *subject.planned),
             windows_table(*subject.plan), rails_table(*subject.plan));
  if (!options.json.empty()) {
    RAILWAVE_TRY(report::write_private_file(
        options.json,
        summary_json(options.phase.workload, {*subject.source, *subject.layer, *subject.planned})));
  }
  return 0;
}

/// The plan of --check's file, or the one that is planned.
Result<Subject> subject_of(const PlanOptions& options) {
  if (options.check.empty()) return planned_subject(options.phase);
  auto plan = report::read_plan(options.check);
  if (!plan) return fail(std::move(plan).error());
  Subject subject;
  subject.plan = *std::move(plan);
  return subject;
}

Result<int> show_answers(const PlanOptions& options, const Subject& subject) {
  PlanAnswers answers(*subject.plan);
  if (!options.check.empty()) answers.check(options.check);
  if (!options.explain.empty()) {
    RAILWAVE_TRY(answers.explain(options.explain, subject.layer ? &subject.layer->sent : nullptr));
  }
  if (!options.compare.empty()) RAILWAVE_TRY(answers.compare(options.compare));
  if (!options.json.empty()) {
    RAILWAVE_TRY(report::write_private_file(options.json, answers.json()));
  }
  return answers.status();
}

Result<int> run_plan(const PlanOptions& options) {
  if (!options.check.empty() && !options.given_for_planning.empty()) {
    return fail(ErrorCode::InvalidArgument, options.given_for_planning,
                "--check reads the plan from its file and does not look at it; leave it out");
  }
  if (!options.paths.empty()) return show_paths(options);
  const auto subject = subject_of(options);
  if (!subject) return fail(subject.error());
  if (!options.save.empty()) {
    RAILWAVE_TRY(report::write_private_file(options.save, report::plan_to_json(*subject->plan)));
  }
  const bool whole = options.check.empty() && options.explain.empty() && options.compare.empty();
  return whole ? show_plan(options, *subject) : show_answers(options, *subject);
}

}  // namespace

void add_plan(CLI::App& app, Invocation& invocation) {
  auto* verb = app.add_subcommand("plan", "Show, save, check, compare and explain plans");
  verb->footer(kExamples);
  const auto options = std::make_shared<PlanOptions>();
  add_cluster_options(*verb, options->phase.workload.cluster);
  add_workload_options(*verb, options->phase.workload);
  const auto add = [&](const char* name, auto& value, const char* text, const char* type) {
    return verb->add_option(name, value, text)->type_name(type)->capture_default_str();
  };
  add_seed(*verb, "of the generated trace", options->phase.workload.seed);
  auto* layer = add_whole(*verb, {"--layer", "of the trace, from 0", "L"}, {0, kMostLayers - 1},
                          options->phase.layer);
  auto* path = add("--path", options->phase.path, "how the phase is executed", "NAME")
                   ->check(CLI::IsMember({"native", "rail_only", "permutation_only", "joint",
                                          "birkhoff", "linear", "pairwise", "spray"}));
  auto* paths = add("--paths", options->paths,
                    "compare path bounds of these, or of all, summed over all layers; without "
                    "--schedule for every schedule",
                    "NAMES")
                    ->delimiter(',');
  auto* save = add("--save", options->save, "write the plan (docs/formats/plan.md)", "FILE");
  auto* check = add("--check", options->check, "read and check a plan", "FILE");
  auto* compare = add("--compare", options->compare, "what differs from this plan", "FILE");
  auto* explain = add_whole_list(*verb,
                                 {"--explain", "a slice, a home rail's part of it, or one record",
                                  "S,D[,RAIL[,INDEX]]"},
                                 kFromZero, options->explain)
                      ->allow_extra_args(false);
  auto* json = add("--json", options->json, "write what is shown", "FILE");
  for (auto* other : {layer, path, save, check, compare, explain}) paths->excludes(other);
  std::vector<const CLI::Option*> of_planning;
  for (const CLI::Option* option : verb->get_options()) {
    const bool of_answers =
        option == check || option == compare || option == explain || option == json;
    if (!of_answers) of_planning.push_back(option);
  }
  const auto* schedule = verb->get_option("--schedule");
  verb->callback([&invocation, options, schedule, of_planning] {
    options->schedule_given = schedule->count() > 0;
    for (const CLI::Option* option : of_planning) {
      if (option->count() > 0) options->given_for_planning = option->get_name();
    }
    invocation.run = [options] {
      const auto status = run_plan(*options);
      return status ? *status : report(status.error());
    };
  });
}

}  // namespace railwave::cli
