#include "mode_inputs.hpp"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "base/units.hpp"
#include "dtype_option.hpp"

namespace railwave::cli {
namespace {

plan::Amount amount(const std::optional<std::int64_t>& total,
                    const std::optional<std::int64_t>& per_worker, plan::Amount otherwise) {
  if (total) return {*total, plan::Per::Total};
  return per_worker ? plan::Amount{*per_worker, plan::Per::Worker} : otherwise;
}

/// Elements, and of fp8 a float32 scale for every 128 of them.
Result<std::int64_t> row_bytes(std::int64_t hidden, const std::string& dtype) {
  if (hidden < 1) {
    return fail(ErrorCode::InvalidArgument, "--hidden",
                fmt::format("hidden is {}, expected at least 1", hidden));
  }
  const DType type = dtype_named(dtype);
  const auto elements = checked_mul(hidden, element_bytes(type));
  const std::int64_t scales = type == DType::FP8E4M3 ? 4 * ceil_div(hidden, 128) : 0;
  const auto row = elements ? checked_add(*elements, scales) : std::nullopt;
  if (row) return *row;
  return fail(ErrorCode::InvalidArgument, "--hidden", "a row does not fit into 64 bits");
}

Result<std::int64_t> expert_bytes(const ModeOptions& o) {
  if (!o.expert_bytes.empty()) return parse_size(o.expert_bytes, "--expert-bytes");
  if (o.intermediate < 1) {
    return fail(ErrorCode::InvalidArgument, "--intermediate",
                fmt::format("intermediate is {}, expected at least 1", o.intermediate));
  }
  const auto matrix = checked_mul(o.hidden, o.intermediate);
  const auto weights = matrix ? checked_mul(*matrix, 3) : std::nullopt;
  const auto bytes =
      weights ? checked_mul(*weights, element_bytes(dtype_named(o.weight_dtype))) : std::nullopt;
  if (bytes) return *bytes;
  return fail(ErrorCode::InvalidArgument, "--intermediate", "an expert does not fit into 64 bits");
}

/// In millionths of a node.
Result<std::optional<Ratio>> remote_nodes(const ModeOptions& o) {
  if (!o.remote_nodes) return std::optional<Ratio>{};
  constexpr std::int64_t kParts = 1'000'000;
  if (*o.remote_nodes >= 0 && *o.remote_nodes < std::numeric_limits<std::int32_t>::max()) {
    return std::optional(Ratio{std::llround(*o.remote_nodes * kParts), kParts});
  }
  return fail(ErrorCode::InvalidArgument, "--remote-nodes",
              fmt::format("{} is not in 0..nodes-1", *o.remote_nodes));
}

}  // namespace

Result<plan::ModeInputs> mode_inputs(const ModeOptions& o) {
  plan::ModeInputs in;
  in.nodes = o.nodes;
  in.workers = static_cast<std::int64_t>(o.nodes) * o.ranks_per_node;
  in.model.hidden = o.hidden;
  in.model.experts = amount(o.experts, o.experts_per_worker, {256, plan::Per::Total});
  in.model.top_k = o.top_k;
  const auto dispatch = row_bytes(o.hidden, o.dispatch_dtype);
  if (!dispatch) return fail(dispatch.error());
  in.model.dispatch_row_bytes = *dispatch;
  const auto back = row_bytes(o.hidden, o.return_dtype);
  if (!back) return fail(back.error());
  in.model.return_row_bytes = *back;
  const auto expert = expert_bytes(o);
  if (!expert) return fail(expert.error());
  in.model.expert_bytes = *expert;
  in.load.tokens = amount(o.tokens, o.tokens_per_worker, {4'096, plan::Per::Worker});
  const auto remote = remote_nodes(o);
  if (!remote) return fail(remote.error());
  in.load.remote_nodes = *remote;
  return in;
}

}  // namespace railwave::cli
