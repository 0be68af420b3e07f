// railwave bench dispatch, combine, round-trip: on a rank.
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/fail.hpp"
#include "bench.hpp"
#include "bench_sizes.hpp"
#include "bench_workload.hpp"
#include "emulated_run.hpp"
#include "path_groups.hpp"
#include "plan/lower_bound.hpp"
#include "replay_sample.hpp"
#include "run_environment.hpp"
#include "show_result.hpp"
#include "workload/replay_rows.hpp"

namespace railwave::cli {
namespace {

class BenchRank {
 public:
  BenchRank(const BenchOptions& options, const BenchRequest& request,
            const testbed::ClusterSpec& spec, const Topology& topology, ReplayWorkload work,
            workload::ReplayRows rows)
      : options_(options),
        request_(request),
        spec_(spec),
        topology_(topology),
        work_(std::move(work)),
        rows_(std::move(rows)) {}

  Status connect();
  Result<int> run();

 private:
  [[nodiscard]] std::vector<ReplaySampler> make_samplers();
  Status measure(std::vector<ReplaySampler>& samplers, std::size_t layer);
  [[nodiscard]] double bound_s(const ReplayLayer& layer) const;
  [[nodiscard]] Result<report::BenchResult> result_of(
      const std::vector<std::vector<RankSample>>& by_rank) const;
  Result<int> finish();

  const BenchOptions& options_;
  const BenchRequest& request_;
  const testbed::ClusterSpec& spec_;
  Topology topology_;
  ReplayWorkload work_;
  workload::ReplayRows rows_;
  PathGroups groups_;
  std::vector<RankSample> samples_;
  std::int64_t done_ = 0;
};

Status BenchRank::connect() {
  GroupSettings settings;
  settings.max_tokens = work_.max_tokens;
  settings.max_recv_rows = work_.max_recv_rows;
  settings.hidden = options_.hidden;
  settings.dtype = request_.dtype;
  settings.top_k = work_.top_k;
  settings.rows_in_place = options_.rows == "in-place";
  auto groups = PathGroups::connect(topology_, work_.placement, settings, request_.paths.size());
  if (!groups) return fail(std::move(groups).error());
  groups_ = *std::move(groups);
  return {};
}

std::vector<ReplaySampler> BenchRank::make_samplers() {
  ReplaySampler::Setup setup;
  setup.topology = &topology_;
  setup.work = &work_;
  setup.rows = &rows_;
  setup.dtype = request_.dtype;
  setup.hidden = options_.hidden;
  setup.combine = request_.timed.combine;
  setup.check = options_.check != 0;
  setup.in_place = options_.rows == "in-place";
  return groups_.samplers(setup);
}

Status BenchRank::measure(std::vector<ReplaySampler>& samplers, std::size_t layer) {
  const std::size_t paths = request_.paths.size();
  const int rounds = options_.iterations + options_.warmups;
  const std::int64_t total =
      static_cast<std::int64_t>(work_.layers.size() * paths) * std::int64_t{rounds};
  const PreparedLayer prepared = samplers.front().prepare(layer);
  for (int round = 0; round < rounds; ++round) {
    RAILWAVE_TRY(sample_round(samplers, request_.paths, {layer, &prepared, round},
                              [&](RankSample sample) -> Status {
                                sample.repeat = round - options_.warmups;
                                samples_.push_back(std::move(sample));
                                if (groups_.self().value == 0) say_progress(++done_, total);
                                return {};
                              }));
  }
  return {};
}

Result<int> BenchRank::run() {
  std::vector<ReplaySampler> samplers = make_samplers();
  for (std::size_t layer = 0; layer < work_.layers.size(); ++layer) {
    RAILWAVE_TRY(measure(samplers, layer));
  }
  return finish();
}

/// Combine carries as many bytes on the same rails, the other way.
double BenchRank::bound_s(const ReplayLayer& layer) const {
  const double rate = testbed::rate_of_weight_one(spec_, topology_);
  const std::int64_t burst = testbed::burst_over_weight(spec_, topology_);
  const auto seconds = [&](const RailCounts& counts) {
    return plan::bound_seconds(plan::bound_records(topology_, counts), request_.row_bytes, rate,
                               burst);
  };
  return (request_.timed.dispatch ? seconds(layer.counts) : 0) +
         (request_.timed.combine ? seconds(layer.counts.transposed()) : 0);
}

Result<report::BenchResult> BenchRank::result_of(
    const std::vector<std::vector<RankSample>>& by_rank) const {
  report::BenchResult out;
  out.operation = options_.operation;
  out.cluster = cluster_facts(spec_);
  out.environment = run_environment(spec_, options_.seed);
  out.workload = {options_.experts, options_.top_k, std::string(to_string(request_.dtype)),
                  options_.hidden, request_.row_bytes};
  out.rounds = {options_.iterations, options_.warmups, options_.check != 0};
  for (const Path path : request_.paths) {
    auto lines = bench_path(path, request_, work_, by_rank, options_.check != 0);
    if (!lines) return fail(std::move(lines).error());
    for (std::size_t i = 0; topology_.nodes() > 1 && i < work_.layers.size(); ++i) {
      lines->sizes[i].bound_s = bound_s(work_.layers[i]);
    }
    out.paths.push_back(*std::move(lines));
  }
  RAILWAVE_TRY(report::summarise(out));
  return out;
}

Result<int> BenchRank::finish() {
  const auto by_rank = groups_.gather_samples(samples_);
  if (!by_rank) return fail(by_rank.error());
  if (groups_.self().value != 0) return 0;
  const auto result = result_of(*by_rank);
  if (!result) return fail(result.error());
  RAILWAVE_TRY(show_result(*result, options_.json));
  return 0;
}

}  // namespace

Result<int> bench_exchange(const BenchOptions& options, const BenchRequest& request,
                           const testbed::ClusterSpec& spec) {
  const auto topology = Topology::create(testbed::topology_options(spec));
  if (!topology) return fail(topology.error());
  auto work = make_bench_workload({request.tokens, options.experts, options.top_k, options.seed},
                                  *topology);
  if (!work) return fail(std::move(work).error());
  auto rows = workload::ReplayRows::create(options.seed, request.dtype, options.hidden);
  if (!rows) return fail(std::move(rows).error());
  BenchRank rank(options, request, spec, *topology, *std::move(work), *std::move(rows));
  RAILWAVE_TRY(rank.connect());
  return rank.run();
}

}  // namespace railwave::cli
