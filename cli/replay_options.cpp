#include "replay_options.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/fail.hpp"
#include "base/units.hpp"
#include "limits.hpp"
#include "number_options.hpp"

namespace railwave::cli {

namespace {

template <class T>
CLI::Option* add(CLI::App& verb, const char* name, T& value, const char* text, const char* type) {
  return verb.add_option(name, value, text)->type_name(type)->capture_default_str();
}

}  // namespace

void note_given(CLI::Option* option, ReplayOptions& options) {
  option->each(
      [&options, name = option->get_name()](const std::string&) { options.given.push_back(name); });
}

void add_workload_options(CLI::App& verb, ReplayOptions& o) {
  add(verb, "--trace", o.trace, "routing trace (docs/formats/trace.md); none: a generated one",
      "FILE");
  add_whole(verb, {"--experts", "experts of the trace; 0: the file says it", "E"},
            {0, kMostExperts}, o.experts);
  add(verb, "--schedule", o.schedule, "who sends to whom, in which windows", "NAME")
      ->check(CLI::IsMember({"ring", "moderate", "extreme", "all-at-once", "n-type", "r-type"}));
  add(verb, "--placement", o.placement, "order in which a layer's experts fill the bins", "NAME")
      ->check(CLI::IsMember({"sorted", "natural"}));
  add(verb, "--routing", o.routing, "schedule: one expert a row; trace: the trace's own ids",
      "NAME")
      ->check(CLI::IsMember({"schedule", "trace"}));
  add_real(verb,
           {"--payload-mib", "remote rows per rank and phase; 0: as many as the trace has", "MIB"},
           {0, kMostPayloadMib}, o.payload_mib);
  add_whole(verb, {"--hidden", "elements of a row", "H"}, kFromOne, o.hidden);
  add(verb, "--dtype", o.dtype, "element type", "NAME")->check(CLI::IsMember({"bf16", "fp32"}));
  add_whole(verb, {"--max-tokens", "with --routing trace: tokens per rank at most; 0: all", "T"},
            kFromZero, o.max_tokens);
  for (const char* name : {"--schedule", "--placement", "--payload-mib", "--max-tokens"}) {
    note_given(verb.get_option(name), o);
  }
}

void add_replay_options(CLI::App& verb, ReplayOptions& o) {
  add_cluster_options(verb, o.cluster);
  add_workload_options(verb, o);
  add_seed(verb, "of row contents and of the generated trace", o.seed);
  add(verb, "--paths", o.paths, "paths to compare, separated by commas", "NAMES")->delimiter(',');
  add(verb, "--start", o.start, "of the submitted windows of native and rail_only", "NAME")
      ->check(CLI::IsMember({"barrier", "free"}));
  add(verb, "--wave-start", o.wave_start, "of the waves: rail-barrier, grant or free", "NAME")
      ->check(CLI::IsMember({"rail-barrier", "grant", "free"}));
  add(verb, "--lead", o.lead, "waves: a window counts as received so many bytes early", "SIZE");
  add(verb, "--chunk", o.chunk, "largest frame", "SIZE");
  add_whole(verb, {"--slots", "frames in flight per rail; 0: the library's default", "N"},
            {0, 1 << 20}, o.slots);
  add(verb, "--rows", o.rows, "in-place: in the group's memory, where the node reads them; copied",
      "WHERE")
      ->check(CLI::IsMember({"in-place", "copied"}));
  add(verb, "--socket-buffer", o.socket_buffer, "send buffer of a rail's sockets; 0: the kernel's",
      "SIZE");
  add_whole(verb, {"--layers", "layers to replay, from the first; 0: all", "L"}, {0, kMostLayers},
            o.layers);
  add_whole(verb, {"--repeats", "samples per layer and path", "N"}, {1, kMostRounds}, o.repeats);
  add(verb, "--json", o.json, "write the result (docs/formats/replay_result.md)", "FILE");
  verb.add_flag("--no-gate", o.no_gate, "do not check first whether the rails are the limit");
  add_real(verb, {"--timeout", "end the run after this many seconds", "S"}, kTimeoutSeconds,
           o.timeout);
}

namespace {

Result<std::optional<std::int64_t>> size_of(const std::string& text, const char* field) {
  if (text.empty()) return std::optional<std::int64_t>{};
  const auto size = parse_size(text, field);
  if (!size) return fail(size.error());
  return std::optional<std::int64_t>(*size);
}

Status check_given(const ReplayOptions& o) {
  for (const std::string& name : o.given) {
    const bool of_trace = name == "--max-tokens";
    if (of_trace == (o.routing == "trace")) continue;
    return fail(ErrorCode::InvalidArgument, name,
                fmt::format("only --routing {} looks at it; leave it out",
                            of_trace ? "trace" : "schedule"));
  }
  return {};
}

}  // namespace

Result<ReplayRequest> understand(const ReplayOptions& o) {
  RAILWAVE_TRY(check_given(o));
  ReplayRequest request;
  request.schedule = *workload::schedule_from_string(o.schedule);
  request.order = *workload::bin_order_from_string(o.placement);
  request.by_trace = o.routing == "trace";
  request.dtype = o.dtype == "fp32" ? DType::FP32 : DType::BF16;
  for (const std::string& name : o.paths) {
    const auto path = path_from_string(name);
    if (!path) {
      return fail(
          ErrorCode::InvalidArgument, "--paths",
          fmt::format(
              "'{}' is none of native, rail_only, permutation_only, joint, nor of the planners "
              "of others: birkhoff, linear, pairwise, spray",
              name));
    }
    request.paths.push_back(*path);
  }
  request.window_start = o.start == "free" ? StartPolicy::Free : StartPolicy::Submission;
  if (!o.wave_start.empty()) {
    request.wave_start = o.wave_start == "grant"  ? StartPolicy::Grant
                         : o.wave_start == "free" ? StartPolicy::Free
                                                  : StartPolicy::RailBarrier;
  }
  for (const auto& [text, field, value] :
       {std::tuple{&o.lead, "--lead", &request.lead_bytes},
        std::tuple{&o.chunk, "--chunk", &request.chunk_bytes},
        std::tuple{&o.socket_buffer, "--socket-buffer", &request.socket_buffer}}) {
    const auto size = size_of(*text, field);
    if (!size) return fail(size.error());
    *value = *size;
  }
  return request;
}

}  // namespace railwave::cli
