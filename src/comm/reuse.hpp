// Outcomes of earlier steps whose memory serves again.
#pragma once

#include <utility>

#include <railwave/communicator.hpp>

namespace railwave::comm {

/// `from` without what it held.
template <class T>
std::vector<T> emptied(std::vector<T>& from) {
  from.clear();
  return std::move(from);
}

/// A report of nothing, with the memory of an earlier one.
inline PhaseReport blank_report(PhaseReport& earlier) {
  PhaseReport report;
  report.sent_bytes = emptied(earlier.sent_bytes);
  report.received_bytes = emptied(earlier.received_bytes);
  report.sent_records = emptied(earlier.sent_records);
  report.intervals = emptied(earlier.intervals);
  return report;
}

/// A result of nothing, with the memory of an earlier one. What is as large as the rows keeps its
/// size, too: it is written anew and need not be cleared.
inline Received blank_result(Received& earlier) {
  Received result;
  result.topk_idx = std::move(earlier.topk_idx);
  result.topk_weights = std::move(earlier.topk_weights);
  result.storage = std::move(earlier.storage);
  result.scale_storage = std::move(earlier.scale_storage);
  result.tokens_per_expert = emptied(earlier.tokens_per_expert);
  result.unaligned_tokens_per_expert = emptied(earlier.unaligned_tokens_per_expert);
  result.expert_offsets = emptied(earlier.expert_offsets);
  result.report = blank_report(earlier.report);
  earlier = Received();
  return result;
}

}  // namespace railwave::comm
