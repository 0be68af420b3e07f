#include <fmt/format.h>

#include "base/units.hpp"
#include "report/bench_result.hpp"
#include "report/table.hpp"
#include "run_header.hpp"

namespace railwave::report {
namespace {

std::string rounds_line(const std::string& operation, const BenchRounds& rounds) {
  return comment(fmt::format("operation    {}, {} iterations after {} to warm up, check {}",
                             operation, rounds.iterations, rounds.warmups,
                             rounds.check ? "of every round" : "off"));
}

std::string figure(const std::optional<double>& value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

std::string microseconds(double seconds) { return fmt::format("{:.1f}", 1e6 * seconds); }

std::string workload_line(const BenchWorkload& w) {
  return comment(
      fmt::format("workload     random routing, top-{} of {} experts, {} x {} ({} a row)", w.top_k,
                  w.experts, w.hidden, w.dtype, format_size(w.row_bytes)));
}

}  // namespace

std::string to_table(const BenchResult& result) {
  Table table({{"path", "", Align::Left},
               {"size", "B"},
               {"tokens"},
               {"logical", "B"},
               {"wire", "B"},
               {"p50", "us"},
               {"min", "us"},
               {"max", "us"},
               {"algbw", "GB/s"},
               {"busbw", "GB/s"},
               {"bound", "x"},
               {"#wrong"}});
  for (const BenchPath& path : result.paths) {
    for (const BenchSize& s : path.sizes) {
      table.add_row({path.name, fmt::format("{}", s.size_bytes), fmt::format("{}", s.tokens),
                     fmt::format("{}", s.logical_bytes), fmt::format("{}", s.wire_bytes),
                     microseconds(s.time.p50_s), microseconds(s.time.min_s),
                     microseconds(s.time.max_s), fmt::format("{:.4f}", s.algbw_byte_s / 1e9),
                     fmt::format("{:.4f}", s.busbw_byte_s / 1e9), figure(s.ratio_to_bound, 2),
                     result.rounds.check ? fmt::format("{}", s.wrong) : "-"});
    }
  }
  return run_header(result.cluster, result.environment) + workload_line(result.workload) +
         rounds_line(result.operation, result.rounds) +
         comment("sizes        of a rank, means over the ranks; docs/bench.md says what counts") +
         "#\n" + table.text();
}

std::string to_table(const NetworkResult& result) {
  Table table({{"rail"},
               {"route", "", Align::Left},
               {"size", "B"},
               {"p50", "us"},
               {"min", "us"},
               {"max", "us"},
               {"received", "Mbit/s"},
               {"nominal", "Mbit/s"},
               {"fraction"},
               {"#wrong"}});
  for (const NetworkRail& rail : result.rails) {
    for (const NetworkSize& s : rail.sizes) {
      table.add_row({fmt::format("{}", rail.rail), rail.route, fmt::format("{}", s.size_bytes),
                     microseconds(s.time.p50_s), microseconds(s.time.min_s),
                     microseconds(s.time.max_s), fmt::format("{:.2f}", s.bit_s / 1e6),
                     fmt::format("{:.2f}", static_cast<double>(rail.nominal_bit_s) / 1e6),
                     fmt::format("{:.3f}", s.fraction),
                     result.rounds.check ? fmt::format("{}", s.wrong) : "-"});
    }
  }
  return run_header(result.cluster, result.environment) +
         rounds_line(result.operation, result.rounds) +
         comment("sizes        from each sender, over plain TCP connections") + "#\n" +
         table.text();
}

}  // namespace railwave::report
