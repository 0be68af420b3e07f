#include "workspace_sizes.hpp"

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "base/units.hpp"
#include "dtype_option.hpp"
#include "limits.hpp"
#include "row_bytes.hpp"

namespace railwave::cli {
namespace {

Result<std::int64_t> record_bytes(const WorkspaceOptions& o,
                                  const std::optional<std::int64_t>& given) {
  if (given) return *given;
  const auto row = row_bytes(o.hidden, dtype_named(o.dtype));
  if (!row) return fail(row.error());
  const auto record = checked_add(*row, 32);
  if (record) return *record;
  return fail(ErrorCode::InvalidArgument, "--hidden", "a record does not fit into 64 bits");
}

Result<std::int64_t> expert_parameters(const WorkspaceOptions& o) {
  const auto matrix = checked_mul(o.hidden, o.intermediate);
  const auto expert = matrix ? checked_mul(*matrix, 3) : std::nullopt;
  if (expert) return *expert;
  return fail(ErrorCode::InvalidArgument, "--intermediate",
              "the parameters of an expert do not fit into 64 bits");
}

Result<WorkspaceSize> library_size(const WorkspaceOptions& o) {
  const auto topology = limited_topology(o.nodes, o.ranks_per_node, o.rails);
  if (!topology) return fail(topology.error());
  const auto chunk = parse_size(o.chunk, "--chunk");
  if (!chunk) return fail(chunk.error());
  CommunicatorOptions options;
  options.max_tokens_per_rank = o.tokens;
  options.max_recv_rows = o.max_recv_rows;
  if (o.max_recv_rows == 0) {
    const auto placement = Placement::contiguous(topology->ranks(), topology->ranks());
    const auto worst = worst_case_recv_rows(*topology, *placement, {o.tokens});
    if (!worst) return fail(worst.error());
    options.max_recv_rows = *worst;
  }
  options.max_hidden = o.hidden;
  options.widest_dtype = dtype_named(o.dtype);
  options.max_top_k = o.top_k;
  options.chunk_bytes = *chunk;
  options.send_slots = o.slots;
  options.phases_in_flight = o.phases;
  return workspace_size(*topology, options);
}

}  // namespace

Result<WorkspaceSizes> workspace_sizes(const WorkspaceOptions& o) {
  WorkspaceSizes sizes;
  const auto dispatch = record_bytes(o, o.dispatch_record);
  if (!dispatch) return fail(dispatch.error());
  const auto back = record_bytes(o, o.return_record);
  if (!back) return fail(back.error());
  sizes.shape = {o.nodes, o.ranks_per_node, o.tokens, o.channels, *dispatch, *back};
  const auto balance = plan::balance_workspace(sizes.shape);
  if (!balance) return fail(balance.error());
  sizes.balance = *balance;
  const auto parameters = expert_parameters(o);
  if (!parameters) return fail(parameters.error());
  sizes.parameters = *parameters;
  for (const std::int64_t replicas : o.replicas) {
    const auto storage =
        plan::replica_storage({o.layers, replicas, *parameters, o.weight_bytes, o.gradient_bytes});
    if (!storage) return fail(storage.error());
    sizes.replicas.push_back(*storage);
  }
  const auto library = library_size(o);
  if (!library) return fail(library.error());
  sizes.library = *library;
  return sizes;
}

}  // namespace railwave::cli
