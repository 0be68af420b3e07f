#include <algorithm>

#include <fmt/format.h>

#include "base/fail.hpp"
#include "workload/rank_routing.hpp"

namespace railwave::workload {
namespace {

Status check(const Trace& trace, int layer, int ranks, RankId self,
             std::optional<std::int64_t> max_tokens) {
  if (!trace.has_ids()) {
    return fail(ErrorCode::InvalidArgument, "routing",
                "the trace has expert counts only; routing by trace needs per-token expert ids");
  }
  if (layer < 0 || layer >= trace.layers()) {
    return fail(ErrorCode::InvalidArgument, "layer",
                fmt::format("layer {} is not below the trace's {}", layer, trace.layers()));
  }
  if (ranks < 1) {
    return fail(ErrorCode::InvalidArgument, "ranks",
                fmt::format("ranks is {}, expected at least 1", ranks));
  }
  if (self.value < 0 || self.value >= ranks) {
    return fail(ErrorCode::InvalidArgument, "rank",
                fmt::format("rank {} is not below the {} ranks", self.value, ranks));
  }
  if (max_tokens && *max_tokens < 0) {
    return fail(ErrorCode::InvalidArgument, "max_tokens",
                fmt::format("max_tokens is {}, expected at least 0", *max_tokens));
  }
  return {};
}

}  // namespace

Result<RankRouting> trace_routing(const Trace& trace, int layer, int ranks, RankId self,
                                  std::optional<std::int64_t> max_tokens) {
  RAILWAVE_TRY(check(trace, layer, ranks, self, max_tokens));
  const std::int64_t size = trace.tokens() / ranks;
  const std::int64_t longer = trace.tokens() % ranks;
  const std::int64_t first = self.value * size + std::min<std::int64_t>(self.value, longer);
  const std::int64_t dealt = size + (self.value < longer ? 1 : 0);

  RankRouting out;
  out.tokens = std::min(dealt, max_tokens.value_or(dealt));
  out.top_k = trace.top_k();
  out.topk_idx.reserve(static_cast<std::size_t>(out.tokens * out.top_k));
  for (std::int64_t token = first; token < first + out.tokens; ++token) {
    for (int slot = 0; slot < out.top_k; ++slot) {
      out.topk_idx.push_back(trace.id(layer, token, slot));
    }
  }
  return out;
}

}  // namespace railwave::workload
