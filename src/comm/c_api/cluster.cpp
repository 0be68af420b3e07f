// Topology and placement.
#include <algorithm>
#include <utility>
#include <vector>

#include <railwave/railwave.h>

#include "last_error.hpp"
#include "objects.hpp"
#include "sized_struct.hpp"

namespace railwave::c_api {
namespace {

/// A row a node of a value a rail; empty for NULL.
template <class Value, class Given>
std::vector<std::vector<Value>> rows_of(const Given* values, std::int32_t nodes,
                                        std::int32_t rails) {
  std::vector<std::vector<Value>> rows;
  const auto width = static_cast<std::size_t>(std::max(rails, 0));
  for (std::int32_t node = 0; values != nullptr && node < nodes; ++node, values += width) {
    rows.emplace_back(values, values + width);
  }
  return rows;
}

/// As rows_of(), each as wide as its node has ranks.
std::vector<std::vector<int>> home_rails_of(const std::int32_t* values,
                                            const std::vector<int>& ranks_per_node) {
  std::vector<std::vector<int>> rows;
  for (std::size_t node = 0; values != nullptr && node < ranks_per_node.size(); ++node) {
    const auto ranks = static_cast<std::size_t>(std::max(ranks_per_node[node], 0));
    rows.emplace_back(values, values + ranks);
    values += ranks;
  }
  return rows;
}

Result<Topology> topology_of(const railwave_topology_config* given) {
  const auto config = read_struct(given, "config");
  if (!config) return fail(config.error());
  RAILWAVE_TRY(check_not_null(config->ranks_per_node, "ranks_per_node"));
  const std::int32_t nodes = config->nodes;
  const std::int32_t rails = config->rails;
  Topology::Options options;
  options.ranks_per_node.assign(config->ranks_per_node,
                                config->ranks_per_node + std::max(nodes, 0));
  options.rails = rails;
  options.home_rail = home_rails_of(config->home_rail, options.ranks_per_node);
  for (const auto& row : rows_of<std::uint8_t>(config->live, nodes, rails)) {
    options.live.emplace_back(row.begin(), row.end());
  }
  const std::int32_t* ingress = config->ingress;
  for (std::int32_t node = 0; ingress != nullptr && node < nodes; ++node) {
    options.ingress.push_back(rows_of<int>(ingress, nodes, rails));
    ingress += static_cast<std::ptrdiff_t>(nodes) * std::max(rails, 0);
  }
  options.weights = rows_of<std::int64_t>(config->weights, nodes, rails);
  return Topology::create(std::move(options));
}

/// The objects of the cluster are made by `make`, a Result<Value>().
template <class Object, class Make>
railwave_result make_object(Object** out, Make&& make) noexcept {
  return call([&]() -> Status {
    RAILWAVE_TRY(check_not_null(out, "out"));
    *out = nullptr;
    return hand_out(make(), out);
  });
}

}  // namespace
}  // namespace railwave::c_api

using namespace railwave;
using c_api::make_object;

railwave_result railwave_topology_uniform(int32_t nodes, int32_t ranks_per_node, int32_t rails,
                                          railwave_topology** out) {
  return make_object(out, [&] { return Topology::uniform(nodes, ranks_per_node, rails); });
}

railwave_result railwave_topology_create(const railwave_topology_config* config,
                                         railwave_topology** out) {
  return make_object(out, [&] { return c_api::topology_of(config); });
}

int32_t railwave_topology_ranks(const railwave_topology* topology) {
  return topology != nullptr ? topology->value.ranks() : 0;
}

void railwave_topology_destroy(railwave_topology* topology) { delete topology; }

railwave_result railwave_placement_contiguous(int32_t experts, int32_t ranks,
                                              railwave_placement** out) {
  return make_object(out, [&] { return Placement::contiguous(experts, ranks); });
}

railwave_result railwave_placement_from_owners(const int32_t* owner, int32_t experts, int32_t ranks,
                                               railwave_placement** out) {
  return make_object(out, [&]() -> Result<Placement> {
    RAILWAVE_TRY(c_api::check_not_null(owner, "owner"));
    std::vector<RankId> owners;
    for (std::int32_t expert = 0; expert < experts; ++expert) owners.emplace_back(owner[expert]);
    return Placement::from_owners(std::move(owners), ranks);
  });
}

railwave_result railwave_placement_replicated(const int32_t* owner, const int32_t* logical,
                                              int32_t experts, int32_t ranks,
                                              railwave_placement** out) {
  return make_object(out, [&]() -> Result<Placement> {
    RAILWAVE_TRY(c_api::check_not_null(owner, "owner"));
    RAILWAVE_TRY(c_api::check_not_null(logical, "logical"));
    std::vector<RankId> owners;
    std::vector<ExpertId> of;
    for (std::int32_t expert = 0; expert < experts; ++expert) {
      owners.emplace_back(owner[expert]);
      of.emplace_back(logical[expert]);
    }
    return Placement::replicated(std::move(owners), std::move(of), ranks);
  });
}

void railwave_placement_destroy(railwave_placement* placement) { delete placement; }
