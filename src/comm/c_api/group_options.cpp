#include "group_options.hpp"

#include <chrono>

#include <fmt/format.h>

#include "base/fail.hpp"
#include "choices.hpp"

namespace railwave::c_api {
namespace {

/// Sets `*wait` unless 0 is given.
Status set_deadline(std::int64_t ms, const char* field, std::chrono::milliseconds* wait) {
  constexpr std::int64_t kMost = 1LL << 40;  // 34 years, far from where nanoseconds overflow
  if (ms < 0 || ms > kMost) {
    return fail(ErrorCode::InvalidArgument, field, fmt::format("{} ms is no time to wait", ms));
  }
  if (ms > 0) *wait = std::chrono::milliseconds(ms);
  return {};
}

Status set_deadlines(const railwave_group_config& config, Deadlines* deadlines) {
  RAILWAVE_TRY(set_deadline(config.init_ms, "init_ms", &deadlines->init));
  RAILWAVE_TRY(
      set_deadline(config.first_operation_ms, "first_operation_ms", &deadlines->first_operation));
  return set_deadline(config.operation_ms, "operation_ms", &deadlines->operation);
}

Status set_choices(const railwave_group_config& config, CommunicatorOptions* options) {
  const auto dtype = dtype_of(config.widest_dtype, "widest_dtype");
  if (!dtype) return fail(dtype.error());
  const auto wave = start_of(config.wave_start, options->wave_start, "wave_start");
  if (!wave) return fail(wave.error());
  const auto window = start_of(config.window_start, options->window_start, "window_start");
  if (!window) return fail(window.error());
  options->widest_dtype = *dtype;
  options->wave_start = *wave;
  options->window_start = *window;
  return {};
}

std::vector<std::string> devices_of(const char* const* given, const Topology& topology) {
  std::vector<std::string> devices(static_cast<std::size_t>(topology.rails()));
  for (std::size_t rail = 0; given != nullptr && rail < devices.size(); ++rail) {
    if (given[rail] != nullptr) devices[rail] = given[rail];
  }
  return devices;
}

}  // namespace

Status read_settings(const railwave_group_config& given, const Topology& topology,
                     GroupSettings* settings) {
  CommunicatorOptions& options = settings->options;
  options.self = RankId(given.rank);
  options.max_tokens_per_rank = given.max_tokens_per_rank;
  options.max_recv_rows = given.max_recv_rows;
  options.max_hidden = given.max_hidden;
  options.shared_bytes = given.shared_bytes;
  options.lead_bytes = given.lead_bytes;
  if (given.max_top_k != 0) options.max_top_k = given.max_top_k;
  if (given.chunk_bytes != 0) options.chunk_bytes = given.chunk_bytes;
  if (given.send_slots != 0) options.send_slots = given.send_slots;
  if (given.phases_in_flight != 0) options.phases_in_flight = given.phases_in_flight;
  if (given.packing < 0 || given.packing > RAILWAVE_PACKING_PREPACKED) {
    return fail(ErrorCode::InvalidArgument, "packing",
                fmt::format("{} is no railwave_packing", given.packing));
  }
  if (given.packing != 0) options.packing = static_cast<Packing>(given.packing - 1);
  settings->rail_devices = devices_of(given.rail_devices, topology);
  RAILWAVE_TRY(set_choices(given, &options));
  return set_deadlines(given, &options.deadlines);
}

}  // namespace railwave::c_api
