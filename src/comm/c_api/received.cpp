// What came of a phase: rows, handle, report.
#include <algorithm>
#include <vector>

#include <railwave/railwave.h>

#include "sized_struct.hpp"
#include "step.hpp"

namespace railwave::c_api {
namespace {

template <class Value>
const Value* array_of(const std::vector<Value>& values) {
  return values.empty() ? nullptr : values.data();
}

railwave_rows rows_of(const Received& received) {
  railwave_rows rows{};
  rows.rows = received.rows;
  rows.local_experts = static_cast<std::int64_t>(received.tokens_per_expert.size());
  rows.x = received.x;
  rows.scales = received.scales;
  rows.topk_idx = array_of(received.topk_idx);
  rows.topk_weights = array_of(received.topk_weights);
  rows.tokens_per_expert = array_of(received.tokens_per_expert);
  rows.unaligned_tokens_per_expert = array_of(received.unaligned_tokens_per_expert);
  rows.expert_offsets = array_of(received.expert_offsets);
  return rows;
}

/// [R], 0 for rails that the phase did not know.
void copy_per_rail(const std::vector<std::int64_t>& values, int rails, std::int64_t* out) {
  if (out == nullptr) return;
  std::fill_n(out, rails, 0);
  std::copy_n(values.begin(), std::min(values.size(), static_cast<std::size_t>(rails)), out);
}

}  // namespace

Status check_report(const railwave_phase_report* report) {
  if (report == nullptr) return {};
  const auto size = size_of(report, "report");
  return size ? Status{} : Status(fail(size.error()));
}

Status write_report(const PhaseReport& report, int rails, railwave_phase_report* out) {
  const auto size = size_of(out, "report");
  if (!size) return fail(size.error());
  railwave_phase_report written{};
  std::memcpy(&written, out, std::min(*size, sizeof(written)));  // the caller's arrays
  copy_per_rail(report.sent_bytes, rails, written.sent_bytes);
  copy_per_rail(report.received_bytes, rails, written.recv_bytes);
  copy_per_rail(report.sent_records, rails, written.sent_records);
  written.max_fan_in = report.max_fan_in;
  written.overlap_bytes = report.overlap_bytes;
  written.header_s = report.header_s;
  written.plan_s = report.plan_s;
  written.pack_s = report.pack_s;
  written.relocate_s = report.relocate_s;
  written.wire_s = report.wire_s;
  written.reorder_s = report.reorder_s;
  written.total_s = report.total_s;
  return write_struct(written, out, "report");
}

}  // namespace railwave::c_api

using namespace railwave;
using c_api::call;
using c_api::check_not_null;

railwave_result railwave_received_rows(const railwave_received* received, railwave_rows* rows) {
  return call([&]() -> Status {
    RAILWAVE_TRY(check_not_null(received, "received"));
    return c_api::write_struct(c_api::rows_of(received->value), rows, "rows");
  });
}

railwave_result railwave_received_report(const railwave_received* received,
                                         railwave_phase_report* report) {
  return call([&]() -> Status {
    RAILWAVE_TRY(check_not_null(received, "received"));
    return c_api::write_report(received->value.report, received->sizes.rails, report);
  });
}

railwave_result railwave_received_handle(const railwave_received* received, railwave_handle** out) {
  return call([&]() -> Status {
    RAILWAVE_TRY(check_not_null(out, "out"));
    *out = nullptr;
    RAILWAVE_TRY(check_not_null(received, "received"));
    *out =
        new railwave_handle{received->value.handle, received->sizes.tokens, received->sizes.top_k};
    return {};
  });
}

void railwave_received_destroy(railwave_received* received) { delete received; }

int64_t railwave_handle_rows(const railwave_handle* handle) {
  return handle != nullptr ? handle->value.rows() : 0;
}

void railwave_handle_destroy(railwave_handle* handle) { delete handle; }
