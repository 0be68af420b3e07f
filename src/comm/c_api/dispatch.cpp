#include <memory>
#include <utility>

#include <fmt/format.h>

#include <railwave/railwave.h>

#include "choices.hpp"
#include "sized_struct.hpp"
#include "step.hpp"

namespace railwave::c_api {
namespace {

Result<Windows> windows_of(const railwave_dispatch_config& config) {
  Windows windows;
  if (config.window_count < 0) {
    return fail(ErrorCode::InvalidArgument, "window_count",
                fmt::format("{} windows; it must be >= 0", config.window_count));
  }
  if (config.window_count > 0) RAILWAVE_TRY(check_not_null(config.windows, "windows"));
  for (const railwave_window& given :
       std::span(config.windows, static_cast<std::size_t>(config.window_count))) {
    if (given.count < 0 || (given.count > 0 && given.pairs == nullptr)) {
      return fail(ErrorCode::InvalidArgument, "windows",
                  fmt::format("window {} has {} pairs at {}", windows.size(), given.count,
                              static_cast<const void*>(given.pairs)));
    }
    Window& window = windows.emplace_back();
    for (const railwave_node_pair pair : values_at(given.pairs, {given.count})) {
      window.push_back({NodeId(pair.source), NodeId(pair.destination)});
    }
  }
  return windows;
}

Status set_choices(const railwave_dispatch_config& config, DispatchArguments* out) {
  const auto dtype = dtype_of(config.dtype, "dtype");
  if (!dtype) return fail(dtype.error());
  const auto path = path_of(config.path);
  if (!path) return fail(path.error());
  const auto layout = layout_of(config.layout);
  if (!layout) return fail(layout.error());
  const auto alignment = count_of(config.expert_alignment, "expert_alignment");
  if (!alignment) return fail(alignment.error());
  out->dtype = *dtype;
  out->path = *path;
  out->layout = *layout;
  out->expert_alignment = *alignment;
  return {};
}

Status set_receive_buffers(const railwave_dispatch_config& config, DispatchArguments* out) {
  if (config.recv_x_bytes < 0 || config.recv_scales_count < 0) {
    return fail(ErrorCode::InvalidArgument, config.recv_x_bytes < 0 ? "recv_x" : "recv_scales",
                "its size is negative");
  }
  out->recv_x = values_at(static_cast<std::byte*>(config.recv_x), {config.recv_x_bytes});
  out->recv_scales = values_at(config.recv_scales, {config.recv_scales_count});
  return {};
}

}  // namespace

Result<DispatchArguments> arguments_of(const railwave_dispatch_config* given) {
  const auto config = read_struct(given, "config");
  if (!config) return fail(config.error());
  auto windows = windows_of(*config);
  if (!windows) return fail(std::move(windows).error());
  DispatchArguments out;
  RAILWAVE_TRY(set_choices(*config, &out));
  RAILWAVE_TRY(set_receive_buffers(*config, &out));
  const std::int64_t blocks = config->hidden > 0 ? ceil_div(config->hidden, kScaleBlock) : 0;
  out.x = config->x;
  out.scales = values_at(config->scales, {config->tokens, blocks});
  out.tokens = config->tokens;
  out.hidden = config->hidden;
  out.top_k = config->top_k;
  out.topk_idx = values_at(config->topk_idx, {config->tokens, config->top_k});
  out.topk_weights = values_at(config->topk_weights, {config->tokens, config->top_k});
  out.windows = *std::move(windows);
  if (config->handle != nullptr) out.handle = config->handle->value;
  return out;
}

DispatchSizes sizes_of(const railwave_group& group, const railwave_dispatch_config& config,
                       const DispatchArguments& arguments) {
  const bool repeated = arguments.handle.valid();
  return {arguments.tokens, repeated ? config.handle->top_k : arguments.top_k, group.rails};
}

}  // namespace railwave::c_api

using namespace railwave;

railwave_result railwave_dispatch(railwave_group* group, const railwave_dispatch_config* config,
                                  railwave_received** out) {
  if (out != nullptr) *out = nullptr;
  return c_api::call_step(group, [&]() -> Status {
    const auto arguments = c_api::with_out(c_api::arguments_of(config), out);
    if (!arguments) return c_api::take_part(arguments.error(), group->value.dispatch({}));
    auto received = std::make_unique<railwave_received>();
    auto outcome = group->value.dispatch(*arguments);
    if (!outcome) return fail(std::move(outcome).error());
    received->value = *std::move(outcome);
    received->sizes = c_api::sizes_of(*group, *config, *arguments);
    *out = received.release();
    return {};
  });
}
