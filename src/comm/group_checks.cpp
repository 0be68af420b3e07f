// What dispatch and combine refuse, and what their headers say.
#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <xxhash.h>

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "comm/group.hpp"
#include "exec/row_shape.hpp"
#include "model/routing.hpp"

namespace railwave::comm {

using exec::Operation;
using exec::RowShape;
using exec::StepHeader;

namespace {

std::uint64_t hash_of(const Windows& windows) {
  if (windows.empty()) return 0;
  std::uint64_t hash = 0;
  const auto add = [&](std::int32_t value) {
    hash = XXH3_64bits_withSeed(&value, sizeof(value), hash);
  };
  for (const Window& window : windows) {
    add(-1);
    for (const NodePair pair : window) {
      add(pair.source.value);
      add(pair.destination.value);
    }
  }
  return hash;
}

Routing routing_of(const DispatchArguments& arguments) {
  return {arguments.tokens, arguments.top_k, arguments.topk_idx};
}

Error capacity_error(RankId rank, const char* field, std::int64_t need, std::int64_t have) {
  Error error{ErrorCode::CapacityExceeded, rank.value, field,
              fmt::format("{} {} are more than there is room for ({})", need, field, have)};
  error.need = need;
  error.have = have;
  return error;
}

/// What dispatch and combine check alike.
Status check_rows(RankId self, const exec::Limits& limits, std::int64_t hidden, DType dtype) {
  if (to_string(dtype) == "?") {
    return fail(ErrorCode::InvalidArgument, self, "dtype",
                fmt::format("{} is no element type", static_cast<int>(dtype)));
  }
  if (hidden < 1 || hidden > limits.max_row_bytes ||
      RowShape::of(dtype, hidden).bytes() > limits.max_row_bytes) {
    return fail(ErrorCode::InvalidArgument, self, "hidden",
                fmt::format("a row of {} {} elements does not fit the group's rows of {} bytes",
                            hidden, to_string(dtype), limits.max_row_bytes));
  }
  return {};
}

/// Rows are read from the caller's buffer while others are written to the output.
Status check_apart(RankId self, std::span<const std::byte> in, std::span<const std::byte> out,
                   const char* field) {
  const auto begin = reinterpret_cast<std::uintptr_t>(in.data());
  const auto out_begin = reinterpret_cast<std::uintptr_t>(out.data());
  if (in.empty() || out.empty() || out_begin >= begin + in.size() ||
      out_begin + out.size() <= begin) {
    return {};
  }
  return fail(ErrorCode::InvalidArgument, self, field,
              fmt::format("{} overlaps the input; give a buffer of its own", field));
}

Status check_size(RankId self, const char* field, std::size_t given, std::int64_t wanted) {
  if (given == static_cast<std::size_t>(wanted)) return {};
  return fail(ErrorCode::InvalidArgument, self, field,
              fmt::format("{} values, expected {}", given, wanted));
}

std::span<const std::byte> rows_of(const void* x, std::int64_t rows, std::int64_t bytes) {
  return {static_cast<const std::byte*>(x), static_cast<std::size_t>(rows * bytes)};
}

}  // namespace

Status Group::check_handle(const Handle& handle) const {
  if (handle.valid() && handle.state_->group.lock() == identity_) return {};
  return fail(ErrorCode::StaleHandle, options_.self, "handle",
              "the handle is empty or was made by another group; use the one that this group's "
              "dispatch returned");
}

Status Group::check_repeated(const DispatchArguments& arguments) const {
  const RankId self = options_.self;
  RAILWAVE_TRY(check_handle(arguments.handle));
  if (!arguments.topk_idx.empty() || !arguments.topk_weights.empty() ||
      !arguments.windows.empty()) {
    return fail(ErrorCode::InvalidArgument, self, "handle",
                "topk_idx, topk_weights and windows must be empty: the handle has them");
  }
  const exec::HandleState& handle = *arguments.handle.state_;
  if (arguments.tokens != handle.tokens) {
    return fail(
        ErrorCode::InvalidArgument, self, "tokens",
        fmt::format("{} tokens, the handle's dispatch had {}", arguments.tokens, handle.tokens));
  }
  const std::int64_t room = recv_room(arguments);
  if (handle.rows > room) return fail(capacity_error(self, "recv_rows", handle.rows, room));
  return {};
}

Status Group::check_routing(const DispatchArguments& arguments) const {
  const RankId self = options_.self;
  if (arguments.tokens > limits_.max_tokens) {
    return fail(capacity_error(self, "tokens", arguments.tokens, limits_.max_tokens));
  }
  if (arguments.top_k > limits_.max_top_k) {
    return fail(
        ErrorCode::InvalidArgument, self, "top_k",
        fmt::format("top_k {} is more than max_top_k {}", arguments.top_k, limits_.max_top_k));
  }
  RAILWAVE_TRY(routing_of(arguments).check(placement_, self));
  if (!arguments.topk_weights.empty() &&
      arguments.topk_weights.size() != arguments.topk_idx.size()) {
    return fail(ErrorCode::InvalidArgument, self, "topk_weights",
                fmt::format("{} weights for {} expert ids", arguments.topk_weights.size(),
                            arguments.topk_idx.size()));
  }
  constexpr std::int64_t kMostSlots = std::numeric_limits<std::uint32_t>::max();  // in a header
  if (arguments.tokens > kMostSlots / arguments.top_k) {
    return fail(ErrorCode::InvalidArgument, self, "tokens",
                fmt::format("{} tokens x top_k {} are more than 2^32 slots", arguments.tokens,
                            arguments.top_k));
  }
  if (arguments.expert_alignment < 1) {
    return fail(ErrorCode::InvalidArgument, self, "expert_alignment",
                fmt::format("{} is less than 1", arguments.expert_alignment));
  }
  return {};
}

Status Group::check(const DispatchArguments& arguments) const {
  const RankId self = options_.self;
  RAILWAVE_TRY(check_rows(self, limits_, arguments.hidden, arguments.dtype));
  RAILWAVE_TRY(arguments.handle.valid() ? check_repeated(arguments) : check_routing(arguments));
  if (arguments.x == nullptr && arguments.tokens > 0) {
    return fail(ErrorCode::InvalidArgument, self, "x", "x is null, but there are tokens");
  }
  const RowShape shape = RowShape::of(arguments.dtype, arguments.hidden);
  RAILWAVE_TRY(check_size(self, "scales", arguments.scales.size(),
                          arguments.tokens * shape.scale_bytes / 4));
  const auto x = rows_of(arguments.x, arguments.tokens, shape.element_bytes);
  const auto scales = std::as_bytes(arguments.scales);
  const auto recv_scales = std::as_bytes(arguments.recv_scales);
  RAILWAVE_TRY(check_apart(self, x, arguments.recv_x, "recv_x"));
  RAILWAVE_TRY(check_apart(self, scales, arguments.recv_x, "recv_x"));
  RAILWAVE_TRY(check_apart(self, x, recv_scales, "recv_scales"));
  RAILWAVE_TRY(check_apart(self, scales, recv_scales, "recv_scales"));
  return check_apart(self, arguments.recv_x, recv_scales, "recv_scales");
}

Status Group::check_weights(const CombineArguments& arguments) const {
  const RankId self = options_.self;
  const exec::HandleState& handle = *arguments.handle.state_;
  const bool expert_major = handle.layout == RowLayout::ExpertMajor;
  if (arguments.apply_weights && !expert_major) {
    return fail(ErrorCode::InvalidArgument, self, "apply_weights",
                "rank-major rows are sums over slots: apply the weights before, or dispatch "
                "expert-major");
  }
  if (!arguments.apply_weights && !arguments.return_weights) {
    return check_size(self, "topk_weights", arguments.topk_weights.size(), 0);
  }
  return check_size(self, "topk_weights", arguments.topk_weights.size(),
                    handle.rows * (expert_major ? 1 : handle.top_k));
}

/// Weights that nobody fills would be taken for those that came back.
Status Group::check_weights_out(const CombineArguments& arguments) const {
  const exec::HandleState& handle = *arguments.handle.state_;
  return check_size(options_.self, "out_topk_weights", arguments.out_topk_weights.size(),
                    arguments.return_weights ? handle.tokens * handle.top_k : 0);
}

/// Tokens are summed as their rows come, so an output may be no input but for itself: a bias may be
/// the output.
Status Group::check_outputs(const CombineArguments& arguments) const {
  const RankId self = options_.self;
  const exec::HandleState& handle = *arguments.handle.state_;
  const std::int64_t row_bytes = arguments.hidden * element_bytes(arguments.dtype);
  const auto out = arguments.out.first(static_cast<std::size_t>(handle.tokens * row_bytes));
  const auto out_weights = std::as_bytes(arguments.out_topk_weights);
  const auto x = rows_of(arguments.x, arguments.rows, row_bytes);
  const auto weights = std::as_bytes(arguments.topk_weights);
  RAILWAVE_TRY(check_apart(self, x, out, "out"));
  RAILWAVE_TRY(check_apart(self, weights, out, "out"));
  for (const void* bias : {arguments.bias0, arguments.bias1}) {
    if (bias == nullptr) continue;
    const auto rows = rows_of(bias, handle.tokens, row_bytes);
    if (rows.data() != out.data()) RAILWAVE_TRY(check_apart(self, rows, out, "out"));
    RAILWAVE_TRY(check_apart(self, rows, out_weights, "out_topk_weights"));
  }
  RAILWAVE_TRY(check_apart(self, x, out_weights, "out_topk_weights"));
  RAILWAVE_TRY(check_apart(self, weights, out_weights, "out_topk_weights"));
  return check_apart(self, out, out_weights, "out_topk_weights");
}

Status Group::check(const CombineArguments& arguments) const {
  const RankId self = options_.self;
  RAILWAVE_TRY(check_handle(arguments.handle));
  RAILWAVE_TRY(check_rows(self, limits_, arguments.hidden, arguments.dtype));
  if (arguments.dtype == DType::FP8E4M3) {
    return fail(ErrorCode::Unsupported, self, "dtype",
                "fp8_e4m3 rows can not be summed; combine takes bf16, fp16 or fp32");
  }
  const exec::HandleState& handle = *arguments.handle.state_;
  if (arguments.rows != handle.rows) {
    return fail(ErrorCode::InvalidArgument, self, "rows",
                fmt::format("rows {}, expected {}: one for each row that the dispatch received",
                            arguments.rows, handle.rows));
  }
  const std::int64_t row_bytes = arguments.hidden * element_bytes(arguments.dtype);
  const std::int64_t out_bytes = handle.tokens * row_bytes;
  if (static_cast<std::int64_t>(arguments.out.size()) < out_bytes) {
    return fail(ErrorCode::InvalidArgument, self, "out",
                fmt::format("{} bytes for {} tokens, {} are needed", arguments.out.size(),
                            handle.tokens, out_bytes));
  }
  if (arguments.x == nullptr && arguments.rows > 0) {
    return fail(ErrorCode::InvalidArgument, self, "x", "x is null, but there are rows");
  }
  RAILWAVE_TRY(check_weights(arguments));
  RAILWAVE_TRY(check_weights_out(arguments));
  return check_outputs(arguments);
}

std::int64_t Group::recv_room(const DispatchArguments& arguments) const {
  const RowShape shape = RowShape::of(arguments.dtype, arguments.hidden);
  std::int64_t room = limits_.max_recv_rows;
  if (!arguments.recv_x.empty()) {
    room = std::min(room, static_cast<std::int64_t>(arguments.recv_x.size()) / shape.element_bytes);
  }
  if (!arguments.recv_scales.empty() && shape.scale_bytes > 0) {
    room = std::min(
        room, static_cast<std::int64_t>(arguments.recv_scales.size_bytes()) / shape.scale_bytes);
  }
  return room;
}

/// What the padding of this rank's groups may take, at most.
std::int64_t Group::most_padding(const DispatchArguments& arguments) const {
  if (arguments.layout == RowLayout::RankMajor) return 0;
  const auto experts = static_cast<std::int64_t>(placement_.owned(options_.self).size());
  return experts * (arguments.expert_alignment - 1);
}

void Group::count(const DispatchArguments& arguments, StepHeader& header) const {
  const Layout layout = Layout::counts_of(routing_of(arguments), placement_, topology_,
                                          header.copies.get_allocator().resource());
  header.records.reserve(layout.tokens_per_node.size());
  header.copies.reserve(layout.tokens_per_rank.size());
  for (const std::int64_t n : layout.tokens_per_node) {
    header.records.push_back(static_cast<std::uint32_t>(n));
  }
  if (arguments.layout == RowLayout::RankMajor) {
    for (const std::int64_t n : layout.tokens_per_rank) {
      header.copies.push_back(static_cast<std::uint32_t>(n));
    }
    return;
  }
  header.copies.assign(static_cast<std::size_t>(topology_.ranks()), 0);
  for (int e = 0; e < placement_.experts(); ++e) {
    const ExpertId expert(e);
    header.copies[placement_.owner(expert).index()] +=
        static_cast<std::uint32_t>(layout.tokens_per_expert[expert.index()]);
  }
}

void Group::describe(const DispatchArguments& arguments, StepHeader& header) const {
  header.dtype = arguments.dtype;
  header.hidden = static_cast<std::uint32_t>(arguments.hidden);
  header.tokens = static_cast<std::uint32_t>(arguments.tokens);
  if (arguments.handle.valid()) {
    const exec::HandleState& handle = *arguments.handle.state_;
    header.path = handle.plan->path();
    header.top_k = static_cast<std::uint32_t>(handle.top_k);
    header.handle_step = handle.step;
    return;
  }
  header.path = arguments.path;
  header.top_k = static_cast<std::uint32_t>(arguments.top_k);
  header.flags = arguments.layout == RowLayout::ExpertMajor ? exec::kExpertMajor : 0U;
  header.windows_hash = hash_of(arguments.windows);
  header.capacity = static_cast<std::uint32_t>(
      std::max<std::int64_t>(0, recv_room(arguments) - most_padding(arguments)));
  count(arguments, header);
}

void Group::describe(const CombineArguments& arguments, StepHeader& header) {
  const exec::HandleState& state = *arguments.handle.state_;
  header.path = state.plan->path();
  header.dtype = arguments.dtype;
  header.hidden = static_cast<std::uint32_t>(arguments.hidden);
  header.flags = (arguments.return_weights ? exec::kReturnWeights : 0U) |
                 (arguments.apply_weights ? exec::kApplyWeights : 0U);
  header.handle_step = state.step;
  header.tokens = static_cast<std::uint32_t>(state.tokens);
}

}  // namespace railwave::comm
