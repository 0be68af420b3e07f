// What must hold of every answer of workload::decode_trace.
#pragma once

#include <cstdint>
#include <string>

#include "base/checked.hpp"
#include "workload/trace_reader.hpp"

namespace railwave::workload {

/// A refusal names the file and says something; it is the file's fault, never ours.
inline void expect_refusal(const std::string& name, const Error& error) {
  RAILWAVE_CHECK(error.message.starts_with(name + ": "), "%s", error.message.c_str());
  RAILWAVE_CHECK(error.message.size() > name.size() + 2);
  RAILWAVE_CHECK(error.code == ErrorCode::InvalidArgument || error.code == ErrorCode::Unsupported,
                 "%d", static_cast<int>(error.code));
}

/// A trace keeps its promises: as many layers as it says, ids below E, counts that are not
/// negative. Looks at the first and the last layer.
inline void expect_sound(const Trace& trace) {
  RAILWAVE_CHECK(trace.layers() >= 1 && trace.experts() >= 1 && trace.sources() >= 1);
  RAILWAVE_CHECK(trace.experts() <= Trace::kMaxExperts && trace.top_k() <= trace.experts());
  for (const int layer : {0, trace.layers() - 1}) {
    std::int64_t sum = 0;
    for (const std::int64_t count : trace.expert_counts(layer)) {
      RAILWAVE_CHECK(count >= 0);
      sum += count;
    }
    for (const std::int64_t count : trace.source_counts(layer)) sum -= count;
    RAILWAVE_CHECK(sum == 0);
    if (!trace.has_ids()) continue;
    for (std::int64_t token = 0; token < trace.tokens(); ++token) {
      for (int slot = 0; slot < trace.top_k(); ++slot) {
        const std::int64_t id = trace.id(layer, token, slot);
        RAILWAVE_CHECK(id >= -1 && id < trace.experts());
      }
    }
  }
}

/// Decodes and holds the answer to the above.
inline void expect_answer(const std::string& name, std::vector<std::uint8_t> bytes,
                          const TraceReadOptions& options) {
  const auto trace = decode_trace(name, std::move(bytes), options);
  if (trace) {
    expect_sound(*trace);
  } else {
    expect_refusal(name, trace.error());
  }
}

}  // namespace railwave::workload
