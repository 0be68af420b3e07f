#include "mode_inputs.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "base/units.hpp"
#include "dtype_option.hpp"
#include "exact_number.hpp"
#include "row_bytes.hpp"

namespace railwave::cli {
namespace {

plan::Amount amount(const std::optional<std::int64_t>& total,
                    const std::optional<std::int64_t>& per_worker, plan::Amount otherwise) {
  if (total) return {*total, plan::Per::Total};
  return per_worker ? plan::Amount{*per_worker, plan::Per::Worker} : otherwise;
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

Result<std::optional<Ratio>> remote_nodes(const ModeOptions& o) {
  if (o.remote_nodes.empty()) return std::optional<Ratio>{};
  const auto exact = exact_number(o.remote_nodes);
  if (!exact) {
    return fail(ErrorCode::InvalidArgument, "--remote-nodes",
                fmt::format("'{}' is not understood; write {}", o.remote_nodes, kExactNumber));
  }
  if (exact->value() <= o.nodes - 1) return exact;
  return fail(ErrorCode::InvalidArgument, "--remote-nodes",
              fmt::format("{}, expected 0 to {}, the other nodes", o.remote_nodes, o.nodes - 1));
}

/// What only formula bytes looks at.
Status add_bytes(plan::ModeInputs& in, const ModeOptions& o) {
  const auto dispatch = row_bytes(o.hidden, dtype_named(o.dispatch_dtype));
  if (!dispatch) return fail(dispatch.error());
  in.model.dispatch_row_bytes = *dispatch;
  const auto back = row_bytes(o.hidden, dtype_named(o.return_dtype));
  if (!back) return fail(back.error());
  in.model.return_row_bytes = *back;
  const auto expert = expert_bytes(o);
  if (!expert) return fail(expert.error());
  in.model.expert_bytes = *expert;
  const auto remote = remote_nodes(o);
  if (!remote) return fail(remote.error());
  in.load.remote_nodes = *remote;
  return {};
}

}  // namespace

bool uses_bytes(const ModeOptions& o) { return std::ranges::count(o.formulas, "bytes") > 0; }

Result<plan::ModeInputs> mode_inputs(const ModeOptions& o) {
  plan::ModeInputs in;
  in.nodes = o.nodes;
  in.workers = static_cast<std::int64_t>(o.nodes) * o.ranks_per_node;
  in.model.hidden = o.hidden;
  in.model.experts = amount(o.experts, o.experts_per_worker, {256, plan::Per::Total});
  in.model.top_k = o.top_k;
  in.load.tokens = amount(o.tokens, o.tokens_per_worker, {4'096, plan::Per::Worker});
  if (uses_bytes(o)) {
    RAILWAVE_TRY(add_bytes(in, o));
  } else if (!o.given_for_bytes.empty()) {
    return fail(ErrorCode::InvalidArgument, o.given_for_bytes,
                "only formula bytes looks at it; leave it out or add bytes to --formula");
  }
  return in;
}

}  // namespace railwave::cli
