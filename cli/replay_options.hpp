// What `railwave replay` was asked to do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <railwave/dtype.hpp>
#include <railwave/error.hpp>
#include <railwave/path.hpp>

#include "cluster_options.hpp"
#include "workload/bins.hpp"
#include "workload/schedule.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace railwave::cli {

/// As typed.
struct ReplayOptions {
  ClusterOptions cluster{};
  std::string trace{};
  int experts = 0;
  std::string schedule = "extreme";
  std::string placement = "sorted";
  std::string routing = "schedule";
  std::vector<std::string> paths{"native", "rail_only", "permutation_only", "joint"};
  std::string start = "barrier";
  std::string wave_start{};  ///< empty: the library's default
  std::string lead{};        ///< empty: the library's default
  std::string chunk{};       ///< empty: the library's default
  std::string socket_buffer{};
  int slots = 0;
  std::string rows = "copied";
  int layers = 0;
  int repeats = 5;
  double payload_mib = 0.5;  ///< 0: the trace's own number of rows
  std::int64_t hidden = 7168;
  std::string dtype = "bf16";
  std::int64_t max_tokens = 0;
  std::vector<std::string> given{};  ///< (set) of the options that only one --routing looks at
  std::uint64_t seed = 1;
  std::string json{};
  bool no_gate = false;
  double timeout = 3600;
};

/// --trace, --experts, --schedule, --placement, --routing, --payload-mib, --hidden, --dtype and
/// --max-tokens: which phase, for every verb that looks at one. REQUIRES: `options` outlives the
/// parsing.
void add_workload_options(CLI::App& verb, ReplayOptions& options);
/// Notes in `options` that an option was given that only one --routing looks at.
void note_given(CLI::Option* option, ReplayOptions& options);
/// The same and everything else of `railwave replay`.
void add_replay_options(CLI::App& verb, ReplayOptions& options);

/// The words as values. Errors: InvalidArgument naming the option.
struct ReplayRequest {
  workload::Schedule schedule = workload::Schedule::Extreme;
  workload::BinOrder order = workload::BinOrder::Sorted;
  bool by_trace = false;
  std::vector<Path> paths{};
  StartPolicy window_start = StartPolicy::Submission;
  std::optional<StartPolicy> wave_start{};
  std::optional<std::int64_t> lead_bytes{};
  std::optional<std::int64_t> chunk_bytes{};
  std::optional<std::int64_t> socket_buffer{};
  DType dtype = DType::BF16;
};
Result<ReplayRequest> understand(const ReplayOptions& options);

}  // namespace railwave::cli
