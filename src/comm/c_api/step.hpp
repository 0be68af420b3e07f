// What a dispatch and a combine of the C interface share.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>

#include <railwave/phase_report.hpp>
#include <railwave/railwave.h>

#include "base/checked.hpp"
#include "last_error.hpp"
#include "objects.hpp"

namespace railwave::c_api {

/// The values at a pointer, as many as the product of the factors says. Without a pointer, and with
/// factors that are no shape, none: the checks of the step then name the factor at fault.
template <class Value>
std::span<Value> values_at(Value* first, std::initializer_list<std::int64_t> factors) {
  std::int64_t count = 1;
  for (const std::int64_t factor : factors) {
    const auto product = checked_mul(count, factor);
    if (factor < 0 || !product) return {};
    count = *product;
  }
  return first != nullptr ? std::span<Value>(first, static_cast<std::size_t>(count))
                          : std::span<Value>();
}

/// Takes part in a step that its caller got wrong, by arguments that it refuses (`refused`, a
/// Result of the step), so that the other ranks need not wait. Returns `own` unless the group
/// ended.
template <class Outcome>
Status take_part(Error own, Result<Outcome> refused) {
  if (!refused && ends_group(refused.error().code)) return fail(std::move(refused).error());
  return fail(std::move(own));
}

/// One step of a group. A step that throws has left the ranks at different places: as with errors
/// in the middle of one, the code is one that ends the group.
template <class Body>
railwave_result call_step(railwave_group* group, Body&& body) noexcept {
  if (group == nullptr) return call([] { return check_not_null(nullptr, "group"); });
  if (group->broken) {
    return remember(RAILWAVE_INTERNAL, "an earlier step of this group threw; make a new group");
  }
  const railwave_result result = call([&]() -> Status {
    try {
      return body();
    } catch (...) {
      group->broken = true;
      throw;
    }
  });
  if (!group->broken || result == RAILWAVE_INTERNAL) return result;
  return remember(RAILWAVE_INTERNAL, "there was no memory left in the middle of a step");
}

/// What a config says. Errors: InvalidArgument.
Result<DispatchArguments> arguments_of(const railwave_dispatch_config* given);
Result<CombineArguments> arguments_of(const railwave_combine_config* given);

/// The arguments, unless there is nowhere to put what comes out. Errors: InvalidArgument.
template <class Arguments>
Result<Arguments> with_out(Result<Arguments> arguments, const void* out) {
  if (arguments && out == nullptr) return fail(ErrorCode::InvalidArgument, "out", "it is NULL");
  return arguments;
}

/// Of a dispatch by this config and its arguments. A repeated one has the slots of the handle.
DispatchSizes sizes_of(const railwave_group& group, const railwave_dispatch_config& config,
                       const DispatchArguments& arguments);

/// Errors: InvalidArgument.
Status write_report(const PhaseReport& report, int rails, railwave_phase_report* out);
/// Errors: InvalidArgument for a report that can not be written; NULL is none.
Status check_report(const railwave_phase_report* report);

}  // namespace railwave::c_api
