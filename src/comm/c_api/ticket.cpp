// Phases that move while their caller does other things.
#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include <railwave/railwave.h>

#include "step.hpp"

namespace railwave::c_api {
namespace {

/// The outcome of `ticket`, waiting for at most `timeout_ms`, less than 0: for as long as it takes.
template <class Outcome>
Result<Outcome> outcome_of(Ticket<Outcome>& ticket, std::int64_t timeout_ms) {
  constexpr std::int64_t kMost = 1LL << 40;  // 34 years, far from where nanoseconds overflow
  if (timeout_ms < 0) return ticket.wait();
  return ticket.wait_for(std::chrono::milliseconds(std::min(timeout_ms, kMost)));
}

}  // namespace
}  // namespace railwave::c_api

using namespace railwave;
using c_api::call;
using c_api::check_not_null;

railwave_result railwave_dispatch_async(railwave_group* group,
                                        const railwave_dispatch_config* config,
                                        railwave_ticket** out) {
  if (out != nullptr) *out = nullptr;
  return c_api::call_step(group, [&]() -> Status {
    const auto arguments = c_api::with_out(c_api::arguments_of(config), out);
    if (!arguments) return c_api::take_part(arguments.error(), group->value.dispatch({}));
    auto ticket = std::make_unique<railwave_ticket>();
    ticket->sizes = c_api::sizes_of(*group, *config, *arguments);
    auto started = group->value.dispatch_async(*arguments);
    if (!started) return fail(std::move(started).error());
    ticket->dispatch = std::move(*started);
    *out = ticket.release();
    return {};
  });
}

railwave_result railwave_combine_async(railwave_group* group, const railwave_combine_config* config,
                                       railwave_ticket** out) {
  if (out != nullptr) *out = nullptr;
  return c_api::call_step(group, [&]() -> Status {
    const auto arguments = c_api::with_out(c_api::arguments_of(config), out);
    if (!arguments) return c_api::take_part(arguments.error(), group->value.combine({}));
    auto ticket = std::make_unique<railwave_ticket>();
    ticket->sizes.rails = group->rails;
    auto started = group->value.combine_async(*arguments);
    if (!started) return fail(std::move(started).error());
    ticket->combine = std::move(*started);
    *out = ticket.release();
    return {};
  });
}

int32_t railwave_ticket_done(const railwave_ticket* ticket) {
  return ticket != nullptr && (ticket->dispatch.done() || ticket->combine.done()) ? 1 : 0;
}

railwave_result railwave_ticket_received(railwave_ticket* ticket, int64_t timeout_ms,
                                         railwave_received** out) {
  if (out != nullptr) *out = nullptr;
  return call([&]() -> Status {
    RAILWAVE_TRY(check_not_null(ticket, "ticket"));
    RAILWAVE_TRY(check_not_null(out, "out"));
    auto received = std::make_unique<railwave_received>();
    auto outcome = c_api::outcome_of(ticket->dispatch, timeout_ms);
    if (!outcome) return fail(std::move(outcome).error());
    received->value = *std::move(outcome);
    received->sizes = ticket->sizes;
    *out = received.release();
    return {};
  });
}

railwave_result railwave_ticket_combined(railwave_ticket* ticket, int64_t timeout_ms,
                                         railwave_phase_report* report) {
  return call([&]() -> Status {
    RAILWAVE_TRY(check_not_null(ticket, "ticket"));
    RAILWAVE_TRY(c_api::check_report(report));
    const auto seen = c_api::outcome_of(ticket->combine, timeout_ms);
    if (!seen) return fail(seen.error());
    if (report == nullptr) return {};
    return c_api::write_report(*seen, ticket->sizes.rails, report);
  });
}

railwave_result railwave_ticket_fd(railwave_ticket* ticket, int32_t* fd) {
  return call([&]() -> Status {
    RAILWAVE_TRY(check_not_null(ticket, "ticket"));
    RAILWAVE_TRY(check_not_null(fd, "fd"));
    const auto descriptor = ticket->combine.valid() ? ticket->combine.fd() : ticket->dispatch.fd();
    if (!descriptor) return fail(descriptor.error());
    *fd = *descriptor;
    return {};
  });
}

void railwave_ticket_destroy(railwave_ticket* ticket) { delete ticket; }
