// railwave replay, on a rank.
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/fail.hpp"
#include "emulated_run.hpp"
#include "path_groups.hpp"
#include "replay.hpp"
#include "replay_result.hpp"
#include "replay_sample.hpp"
#include "replay_workload.hpp"
#include "report/replay_json.hpp"
#include "report/replay_result.hpp"
#include "report/replay_table.hpp"
#include "show_result.hpp"
#include "workload/replay_rows.hpp"

namespace railwave::cli {
namespace {

class ReplayRank {
 public:
  ReplayRank(const ReplayOptions& options, const ReplayRequest& request,
             const testbed::ClusterSpec& spec, const Topology& topology, ReplayWorkload work,
             workload::ReplayRows rows)
      : options_(options),
        request_(request),
        spec_(spec),
        topology_(topology),
        work_(std::move(work)),
        rows_(std::move(rows)),
        row_bytes_(rows_.row_bytes()) {}

  Status connect();
  Result<int> run();

 private:
  [[nodiscard]] std::vector<ReplaySampler> make_samplers();
  Status keep(RankSample sample);
  Result<int> finish();

  const ReplayOptions& options_;
  const ReplayRequest& request_;
  const testbed::ClusterSpec& spec_;
  Topology topology_;
  ReplayWorkload work_;
  workload::ReplayRows rows_;
  std::int64_t row_bytes_;
  PathGroups groups_;
  std::vector<RankSample> samples_;
};

Status ReplayRank::connect() {
  GroupSettings settings;
  settings.max_tokens = work_.max_tokens;
  settings.max_recv_rows = work_.max_recv_rows;
  settings.hidden = options_.hidden;
  settings.dtype = request_.dtype;
  settings.top_k = work_.top_k;
  settings.window_start = request_.window_start;
  settings.wave_start = request_.wave_start;
  settings.lead_bytes = request_.lead_bytes;
  settings.chunk_bytes = request_.chunk_bytes;
  settings.socket_buffer = request_.socket_buffer;
  settings.slots = options_.slots;
  settings.rows_in_place = options_.rows == "in-place";
  auto groups = PathGroups::connect(topology_, work_.placement, settings, request_.paths.size());
  if (!groups) return fail(std::move(groups).error());
  groups_ = *std::move(groups);
  return {};
}

std::vector<ReplaySampler> ReplayRank::make_samplers() {
  ReplaySampler::Setup setup;
  setup.topology = &topology_;
  setup.work = &work_;
  setup.rows = &rows_;
  setup.dtype = request_.dtype;
  setup.hidden = options_.hidden;
  setup.in_place = options_.rows == "in-place";
  return groups_.samplers(setup);
}

/// Samples of the warm-up are not counted, but their rows must be right, too.
Status ReplayRank::keep(RankSample sample) {
  if (sample.repeat >= 0) {
    samples_.push_back(std::move(sample));
  } else if (sample.wrong > 0) {
    return fail(ErrorCode::IntegrityError, groups_.self(), "rows",
                fmt::format("{} rows came back wrong in the warm-up", sample.wrong));
  }
  return {};
}

Result<int> ReplayRank::run() {
  std::vector<ReplaySampler> samplers = make_samplers();
  const std::int64_t total = static_cast<std::int64_t>(work_.layers.size()) *
                             (options_.repeats + 1) *
                             static_cast<std::int64_t>(request_.paths.size());
  std::int64_t done = 0;
  for (std::size_t layer = 0; layer < work_.layers.size(); ++layer) {
    const PreparedLayer prepared = samplers.front().prepare(layer);
    // The first round of a layer warms caches and congestion windows and is not counted.
    for (int repeat = -1; repeat < options_.repeats; ++repeat) {
      const auto take = [&](RankSample sample) -> Status {
        sample.repeat = repeat;
        RAILWAVE_TRY(keep(std::move(sample)));
        if (groups_.self().value == 0) say_progress(++done, total);
        return {};
      };
      RAILWAVE_TRY(sample_round(samplers, request_.paths, {layer, &prepared, repeat + 1}, take));
    }
  }
  return finish();
}

Result<int> ReplayRank::finish() {
  const auto by_rank = groups_.gather_samples(samples_);
  if (!by_rank) return fail(by_rank.error());
  if (groups_.self().value != 0) return 0;
  const auto summary = ResultBuilder(options_, request_, spec_, topology_, work_).build(*by_rank);
  if (!summary) return fail(summary.error());
  RAILWAVE_TRY(show_result(*summary, options_.json));
  return 0;
}

}  // namespace

Result<int> replay_as_rank(const ReplayOptions& options, const ReplayRequest& request,
                           const testbed::ClusterSpec& spec) {
  const auto topology = Topology::create(testbed::topology_options(spec));
  if (!topology) return fail(topology.error());
  auto work = make_workload(options, request, *topology);
  if (!work) return fail(std::move(work).error());
  auto rows = workload::ReplayRows::create(options.seed, request.dtype, options.hidden);
  if (!rows) return fail(std::move(rows).error());
  ReplayRank rank(options, request, spec, *topology, *std::move(work), *std::move(rows));
  RAILWAVE_TRY(rank.connect());
  return rank.run();
}

}  // namespace railwave::cli
