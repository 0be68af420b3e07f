#include "plan/workspace.hpp"

#include <limits>

#include <fmt/format.h>

#include "base/fail.hpp"
#include "plan/wide.hpp"

namespace railwave::plan {
namespace {

struct Field {
  const char* name;
  std::int64_t value;
  std::int64_t least;
};

Status in_range(std::initializer_list<Field> fields) {
  for (const Field& field : fields) {
    if (field.value >= field.least) continue;
    return fail(
        ErrorCode::InvalidArgument, field.name,
        fmt::format("{} is {}, expected at least {}", field.name, field.value, field.least));
  }
  return {};
}

Result<std::int64_t> as_bytes(const Wide& size) {
  if (size <= std::numeric_limits<std::int64_t>::max()) return static_cast<std::int64_t>(size);
  return fail(ErrorCode::InvalidArgument, "workspace", "the size does not fit into 64 bits");
}

}  // namespace

Result<std::int64_t> balance_workspace(const BalanceShape& shape) {
  RAILWAVE_TRY(in_range({{"nodes", shape.nodes, 1},
                         {"ranks_per_node", shape.ranks_per_node, 1},
                         {"tokens_per_rank", shape.tokens_per_rank, 0},
                         {"channels", shape.channels, 0},
                         {"dispatch_record_bytes", shape.dispatch_record_bytes, 0},
                         {"return_record_bytes", shape.return_record_bytes, 0}}));
  const Wide nodes = shape.nodes;
  const Wide ranks = shape.ranks_per_node;
  const Wide channels = shape.channels;
  const Wide rows = channels + shape.tokens_per_rank;
  const Wide row_bytes = Wide(shape.dispatch_record_bytes) + shape.return_record_bytes;
  const Wide records = (nodes - 1) * rows * row_bytes;
  // 32 C + 2 C D G + D G words of four bytes.
  const Wide words = 32 * channels + (2 * channels + 1) * nodes * ranks;
  return as_bytes(records + 4 * words);
}

Result<ReplicaStorage> replica_storage(const ReplicaShape& shape) {
  RAILWAVE_TRY(in_range({{"layers", shape.layers, 0},
                         {"replicas", shape.replicas, 0},
                         {"parameters", shape.parameters, 0},
                         {"weight_bytes", shape.weight_bytes, 0},
                         {"gradient_bytes", shape.gradient_bytes, 0}}));
  const Wide of_layer = Wide(shape.replicas) * shape.parameters;
  const Wide weights = of_layer * shape.layers * shape.weight_bytes;
  const Wide gradients = of_layer * shape.gradient_bytes;
  const auto inference = as_bytes(weights);
  const auto one_layer = as_bytes(weights + gradients);
  const auto all = as_bytes(weights + gradients * shape.layers);
  for (const auto* size : {&inference, &one_layer, &all}) {
    if (!*size) return fail(size->error());
  }
  return ReplicaStorage{*inference, *one_layer, *all};
}

}  // namespace railwave::plan
