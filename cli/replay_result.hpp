// The result of a replay from what all ranks measured.
#pragma once

#include <cstdint>
#include <vector>

#include <railwave/error.hpp>
#include <railwave/topology.hpp>

#include "replay_options.hpp"
#include "replay_samples.hpp"
#include "replay_workload.hpp"
#include "report/replay_result.hpp"
#include "testbed/cluster_spec.hpp"

namespace railwave::cli {

/// REQUIRES: everything given outlives this.
class ResultBuilder {
 public:
  ResultBuilder(const ReplayOptions& options, const ReplayRequest& request,
                const testbed::ClusterSpec& spec, const Topology& topology,
                const ReplayWorkload& work)
      : options_(options), request_(request), spec_(spec), topology_(topology), work_(work) {}
  /// by_rank[P]: the samples of each rank. Errors: IntegrityError{bits}; InvalidArgument.
  [[nodiscard]] Result<report::ReplayResult> build(
      const std::vector<std::vector<RankSample>>& by_rank) const;

 private:
  [[nodiscard]] std::int64_t row_bytes() const {
    return options_.hidden * element_bytes(request_.dtype);
  }
  Status add_bounds(report::PathResult& path) const;
  void describe_workload(report::WorkloadFacts& facts) const;

  const ReplayOptions& options_;
  const ReplayRequest& request_;
  const testbed::ClusterSpec& spec_;
  const Topology& topology_;
  const ReplayWorkload& work_;
};

}  // namespace railwave::cli
