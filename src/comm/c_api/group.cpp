// Making a group, and the sizes to make it with.
#include <utility>

#include <railwave/railwave.h>

#include "choices.hpp"
#include "group_options.hpp"
#include "last_error.hpp"
#include "objects.hpp"
#include "sized_struct.hpp"

namespace railwave::c_api {
namespace {

Result<WorstCase> worst_case_of(const railwave_worst_case* given) {
  const auto config = read_struct(given, "worst");
  if (!config) return fail(config.error());
  const auto layout = layout_of(config->layout);
  if (!layout) return fail(layout.error());
  const auto top_k = count_of(config->top_k, "top_k");
  if (!top_k) return fail(top_k.error());
  const auto alignment = count_of(config->expert_alignment, "expert_alignment");
  if (!alignment) return fail(alignment.error());
  return WorstCase{config->tokens_per_rank, *layout, *top_k, *alignment};
}

Result<Communicator> make_group(const railwave_topology& topology,
                                const railwave_placement& placement,
                                const railwave_group_config& config) {
  GroupSettings settings;
  const Status own = read_settings(config, topology.value, &settings);
  // Settings that every check refuses: the other ranks hear of it and need not wait.
  if (!own) settings.options.max_hidden = -1;
  auto made = Communicator::create(topology.value, placement.value, settings.options,
                                   settings.rail_devices);
  if (!own) return fail(own.error());
  return made;
}

}  // namespace
}  // namespace railwave::c_api

using namespace railwave;
using c_api::call;
using c_api::check_not_null;

railwave_result railwave_worst_case_recv_rows(const railwave_topology* topology,
                                              const railwave_placement* placement,
                                              const railwave_worst_case* worst, int64_t* rows) {
  return call([&]() -> Status {
    RAILWAVE_TRY(check_not_null(topology, "topology"));
    RAILWAVE_TRY(check_not_null(placement, "placement"));
    RAILWAVE_TRY(check_not_null(rows, "rows"));
    const auto asked = c_api::worst_case_of(worst);
    if (!asked) return fail(asked.error());
    const auto most = worst_case_recv_rows(topology->value, placement->value, *asked);
    if (!most) return fail(most.error());
    *rows = *most;
    return {};
  });
}

railwave_result railwave_workspace_size(const railwave_topology* topology,
                                        const railwave_group_config* config,
                                        railwave_workspace* workspace) {
  return call([&]() -> Status {
    RAILWAVE_TRY(check_not_null(topology, "topology"));
    const auto given = c_api::read_struct(config, "config");
    if (!given) return fail(given.error());
    c_api::GroupSettings settings;
    RAILWAVE_TRY(c_api::read_settings(*given, topology->value, &settings));
    const auto size = workspace_size(topology->value, settings.options);
    if (!size) return fail(size.error());
    return c_api::write_struct({0, size->segment, size->send_slots}, workspace, "workspace");
  });
}

railwave_result railwave_group_create(const railwave_topology* topology,
                                      const railwave_placement* placement,
                                      const railwave_group_config* config, railwave_group** out) {
  return call([&]() -> Status {
    RAILWAVE_TRY(check_not_null(out, "out"));
    *out = nullptr;
    RAILWAVE_TRY(check_not_null(topology, "topology"));
    RAILWAVE_TRY(check_not_null(placement, "placement"));
    const auto given = c_api::read_struct(config, "config");
    if (!given) return fail(given.error());
    auto made = c_api::make_group(*topology, *placement, *given);
    if (!made) return fail(std::move(made).error());
    *out = new railwave_group{*std::move(made), topology->value.rails()};
    return {};
  });
}

void railwave_group_destroy(railwave_group* group) { delete group; }

railwave_result railwave_buffer_allocate(railwave_group* group, int64_t bytes,
                                         railwave_buffer** out) {
  return call([&]() -> Status {
    RAILWAVE_TRY(check_not_null(out, "out"));
    *out = nullptr;
    RAILWAVE_TRY(check_not_null(group, "group"));
    return c_api::hand_out(group->value.allocate(bytes), out);
  });
}

void* railwave_buffer_bytes(const railwave_buffer* buffer) {
  return buffer != nullptr ? buffer->value.data() : nullptr;
}

void railwave_buffer_destroy(railwave_buffer* buffer) { delete buffer; }
