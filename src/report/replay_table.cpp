#include "report/replay_table.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/units.hpp"
#include "report/table.hpp"
#include "run_header.hpp"

namespace railwave::report {
namespace {

constexpr const char* kAbsent = "-";

std::string figure(const std::optional<double>& value, int digits, double scale = 1) {
  return value ? fmt::format("{:.{}f}", *value * scale, digits) : kAbsent;
}

template <class Integer>
std::string integer(const std::optional<Integer>& value) {
  return value ? fmt::format("{}", *value) : kAbsent;
}

std::string extremes(const std::optional<std::vector<double>>& shares) {
  if (!shares || shares->empty()) return kAbsent;
  const auto [least, most] = std::ranges::minmax(*shares);
  return fmt::format("{:.1f}-{:.1f}", 100 * least, 100 * most);
}

std::string workload_lines(const WorkloadFacts& w) {
  std::string out = comment(fmt::format(
      "workload     {}, {} layers, {} experts, top-{}, {} x {} ({} a row), {} rows", w.trace,
      w.layers, w.experts, w.top_k, w.hidden, w.dtype, format_size(w.row_bytes), w.rows));
  std::string how = fmt::format("schedule     {}, routing by {}", w.schedule, w.routing);
  if (w.placement) how += fmt::format(", {} bins", *w.placement);
  if (w.placement == "sorted") how += " (rail skew above that of a real placement)";
  if (w.payload_mib) how += fmt::format(", {} MiB a rank and phase", *w.payload_mib);
  out += comment(how);
  out += comment(fmt::format("traffic      rail skew {}, receiver concentration {}, fan-in {}",
                             figure(w.rail_skew, 2), figure(w.receiver_concentration, 2),
                             integer(w.fan_in)));
  return out;
}

}  // namespace

std::string to_table(const ReplayResult& result) {
  Table table({{"path", "", Align::Left},
               {"start", "", Align::Left},
               {"p50", "ms"},
               {"p95", "ms"},
               {"p99", "ms"},
               {"bound", "x"},
               {"path bound", "x"},
               {"speed-up", "x native"},
               {"fan-in", "max"},
               {"overlap", "bytes"},
               {"rail tx", "% min-max"},
               {"#wrong"}});
  for (const PathResult& p : result.paths) {
    table.add_row({p.name, p.start.value_or(kAbsent), figure(p.p50_s, 2, 1e3),
                   figure(p.p95_s, 2, 1e3), figure(p.p99_s, 2, 1e3), figure(p.ratio_to_bound, 2),
                   figure(p.ratio_to_path_bound, 2), figure(p.speedup_over_native, 2),
                   integer(p.max_fan_in), integer(p.overlap_bytes), extremes(p.rail_share_tx),
                   fmt::format("{}", p.wrong)});
  }
  return run_header(result.cluster, result.environment) + workload_lines(result.workload) +
         comment(fmt::format("times        dispatch + combine, sum over {} layers of each layer's "
                             "quantile",
                             result.workload.layers)) +
         "#\n" + table.text();
}

}  // namespace railwave::report
