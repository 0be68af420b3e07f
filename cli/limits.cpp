#include "limits.hpp"

#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/fail.hpp"
#include "base/units.hpp"

namespace railwave::cli {
namespace {

Status in_limits(const char* option, std::int64_t value, int most) {
  if (value >= 1 && value <= most) return {};
  return fail(ErrorCode::InvalidArgument, option, fmt::format("{}, expected 1 to {}", value, most));
}

}  // namespace

Status check_limits(const Topology::Options& shape) {
  const std::int64_t nodes = std::ssize(shape.ranks_per_node);
  RAILWAVE_TRY(in_limits("--nodes", nodes, kMostNodes));
  RAILWAVE_TRY(in_limits("--rails", shape.rails, kMostRails));
  std::int64_t ranks = 0;
  for (const int here : shape.ranks_per_node) {
    RAILWAVE_TRY(in_limits("--ranks-per-node", here, kMostRanksPerNode));
    ranks += here;
  }
  if (ranks <= kMostRanks) return {};
  return fail(
      ErrorCode::InvalidArgument, "--nodes",
      fmt::format("{} nodes have {} ranks in all, expected at most {}", nodes, ranks, kMostRanks));
}

Result<Topology> limited_topology(int nodes, int ranks_per_node, int rails) {
  RAILWAVE_TRY(in_limits("--nodes", nodes, kMostNodes));
  Topology::Options shape;
  shape.ranks_per_node.assign(static_cast<std::size_t>(nodes), ranks_per_node);
  shape.rails = rails;
  RAILWAVE_TRY(check_limits(shape));
  return Topology::create(std::move(shape));
}

Status fits_memory(const std::string& field, std::optional<std::int64_t> bytes,
                   const std::string& what) {
  if (bytes && *bytes <= kMostMemory) return {};
  Error error{ErrorCode::ResourceExhausted, -1, field,
              fmt::format("{} {} of memory, at most {} are given; ask for less", what,
                          bytes ? "take " + format_size(*bytes) : "take more than 2^63 bytes",
                          format_size(kMostMemory))};
  error.need = bytes.value_or(std::numeric_limits<std::int64_t>::max());
  error.have = kMostMemory;
  return fail(std::move(error));
}

}  // namespace railwave::cli
