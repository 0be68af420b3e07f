#include "bench_workload.hpp"

#include <utility>

#include "base/fail.hpp"
#include "workload/random_routing.hpp"

namespace railwave::cli {

Result<ReplayWorkload> make_bench_workload(const BenchLayers& layers, const Topology& topology) {
  auto placement = Placement::contiguous(layers.experts, topology.ranks());
  if (!placement) return fail(std::move(placement).error());
  ReplayWorkload work{"random", *std::move(placement), layers.top_k, 0, 0, {}};
  for (const std::int64_t tokens : layers.tokens) {
    ReplayLayer layer;
    for (int p = 0; p < topology.ranks(); ++p) {
      auto routing =
          workload::random_routing(RankId(p), {layers.seed, tokens, layers.experts, layers.top_k});
      if (!routing) return fail(std::move(routing).error());
      layer.routing.push_back(*std::move(routing));
    }
    work.add(std::move(layer), topology);
  }
  return work;
}

}  // namespace railwave::cli
