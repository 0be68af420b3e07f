#include "plan_paths.hpp"

#include <fmt/format.h>

#include "base/fail.hpp"
#include "plan_phase.hpp"
#include "report/table.hpp"

namespace railwave::cli {
namespace {

Result<ScheduleBounds> bounds_of_schedule(const PhaseSource& source, const std::string& schedule,
                                          const std::vector<Path>& paths) {
  ScheduleBounds out{schedule};
  out.by_path.assign(paths.size(), 0);
  for (int l = 0; l < source.phases.layers(); ++l) {
    const auto layer = source.layer(l);
    if (!layer) return fail(layer.error());
    const auto native = source.plan(*layer, Path::Native);
    if (!native) return fail(native.error());
    const PhaseBounds bounds = bounds_of(*native);
    out.native += bounds.barrier;
    out.least += bounds.least;
    for (std::size_t i = 0; i < paths.size(); ++i) {
      const auto plan = source.plan(*layer, paths[i]);
      if (!plan) return fail(plan.error());
      out.by_path[i] += bounds_of(*plan).barrier;
    }
  }
  return out;
}

std::string over(double a, double b) { return b > 0 ? fmt::format("{:.2f}", a / b) : "-"; }

report::Table table_of(const std::vector<Path>& paths) {
  std::vector<report::Column> columns{{"schedule", "", report::Align::Left}};
  for (const Path path : paths) columns.push_back({std::string(to_string(path))});
  return report::Table(columns);
}

}  // namespace

Result<PathBounds> bounds_by_path(const ReplayOptions& options,
                                  const std::vector<std::string>& schedules,
                                  const std::vector<Path>& paths) {
  PathBounds out;
  const bool by_trace = options.routing == "trace";
  for (const std::string& schedule : schedules) {
    ReplayOptions one = options;
    one.schedule = schedule;
    const auto source = phase_source(one);
    if (!source && source.error().code == ErrorCode::Unsupported && schedules.size() > 1) continue;
    if (!source) return fail(source.error());
    auto row = bounds_of_schedule(*source, by_trace ? "trace" : schedule, paths);
    if (!row) return fail(std::move(row).error());
    out.rows.push_back(*std::move(row));
    out.spec = source->spec;
    out.trace = source->phases.name();
    out.layers = source->phases.layers();
    out.row_bytes = source->phases.row_bytes();
    out.rate_of_weight_one = source->rate_of_weight_one();
    if (by_trace) break;  // which has no schedule
  }
  return out;
}

std::string paths_tables(const std::vector<ScheduleBounds>& rows, const std::vector<Path>& paths) {
  report::Table speedup = table_of(paths);
  report::Table excess = table_of(paths);
  for (const ScheduleBounds& row : rows) {
    std::vector<std::string> gained{row.schedule};
    std::vector<std::string> above{row.schedule};
    for (const double bound : row.by_path) {
      gained.push_back(over(row.native, bound));
      above.push_back(over(bound, row.least));
    }
    speedup.add_row(std::move(gained));
    excess.add_row(std::move(above));
  }
  return report::comment("native over the path: path bounds with barriers") + speedup.text() +
         "#\n" + report::comment("the path over LB1, which holds whatever the plan") +
         excess.text();
}

}  // namespace railwave::cli
