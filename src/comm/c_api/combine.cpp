#include <railwave/railwave.h>

#include "choices.hpp"
#include "sized_struct.hpp"
#include "step.hpp"

namespace railwave::c_api {
namespace {

/// Weights of the expert side: [Nr, K], or [Nr] expert-major.
std::span<const float> weights_of(const railwave_combine_config& config,
                                  const railwave_handle& handle) {
  const bool expert_major = handle.value.layout() == RowLayout::ExpertMajor;
  return values_at(config.topk_weights, {config.rows, expert_major ? 1 : handle.top_k});
}

}  // namespace

Result<CombineArguments> arguments_of(const railwave_combine_config* given) {
  const auto config = read_struct(given, "config");
  if (!config) return fail(config.error());
  RAILWAVE_TRY(check_not_null(config->handle, "handle"));
  if (config->reserved != 0) {
    return fail(ErrorCode::InvalidArgument, "reserved", "it must be 0");
  }
  const auto dtype = dtype_of(config->dtype, "dtype");
  if (!dtype) return fail(dtype.error());
  const railwave_handle& handle = *config->handle;
  CombineArguments out;
  out.handle = handle.value;
  out.x = config->x;
  out.rows = config->rows;
  out.hidden = config->hidden;
  out.dtype = *dtype;
  out.out = values_at(static_cast<std::byte*>(config->out),
                      {handle.tokens, config->hidden, element_bytes(*dtype)});
  out.bias0 = config->bias0;
  out.bias1 = config->bias1;
  out.topk_weights = weights_of(*config, handle);
  out.apply_weights = config->apply_weights != 0;
  out.return_weights = config->return_weights != 0;
  out.out_topk_weights = values_at(config->out_topk_weights, {handle.tokens, handle.top_k});
  return out;
}

}  // namespace railwave::c_api

using namespace railwave;

railwave_result railwave_combine(railwave_group* group, const railwave_combine_config* config,
                                 railwave_phase_report* report) {
  return c_api::call_step(group, [&]() -> Status {
    auto arguments = c_api::arguments_of(config);
    const Status writable = c_api::check_report(report);
    if (arguments && !writable) arguments = fail(writable.error());
    if (!arguments) return c_api::take_part(arguments.error(), group->value.combine({}));
    const auto seen = group->value.combine(*arguments);
    if (!seen) return fail(seen.error());
    if (report == nullptr) return {};
    return c_api::write_report(*seen, group->rails, report);
  });
}
