// railwave replay, on a rank.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <railwave/communicator.hpp>

#include "base/event_loop.hpp"
#include "base/fail.hpp"
#include "comm/bootstrap.hpp"
#include "comm/wiring.hpp"
#include "replay.hpp"
#include "replay_result.hpp"
#include "replay_sample.hpp"
#include "replay_workload.hpp"
#include "report/private_file.hpp"
#include "report/replay_json.hpp"
#include "report/replay_result.hpp"
#include "report/replay_table.hpp"
#include "workload/replay_rows.hpp"

namespace railwave::cli {
namespace {

/// Sleeps on a timer until `when`; finer than an event loop's milliseconds.
Status sleep_until(Clock::time_point when) {
  const UniqueFd timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
  const auto left = when.time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  itimerspec at{};
  at.it_value.tv_sec = seconds.count();
  at.it_value.tv_nsec =
      std::chrono::duration_cast<std::chrono::nanoseconds>(left - seconds).count();
  std::uint64_t expirations = 0;
  if (!timer || ::timerfd_settime(timer.get(), TFD_TIMER_ABSTIME, &at, nullptr) != 0 ||
      ::read(timer.get(), &expirations, sizeof expirations) != sizeof expirations) {
    return fail(ErrorCode::ResourceExhausted, "timerfd", std::strerror(errno));
  }
  return {};
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out{""};
  for (const char c : text) {
    if (c == ',') {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

/// Devices of this node's rails; RAILWAVE_RAILS writes a missing one as "-".
Result<std::vector<std::string>> rail_devices(const Topology& topology) {
  const char* text = std::getenv("RAILWAVE_RAILS");
  std::vector<std::string> devices = split(text != nullptr ? text : "");
  if (static_cast<int>(devices.size()) != topology.rails()) {
    return fail(
        ErrorCode::InvalidArgument, "RAILWAVE_RAILS",
        fmt::format("names {} rails, the cluster has {}", devices.size(), topology.rails()));
  }
  for (std::string& device : devices) {
    if (device == "-") device.clear();
  }
  return devices;
}

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
  Result<Communicator> make_group(std::uint32_t generation,
                                  const std::vector<std::string>& devices) const;
  [[nodiscard]] std::vector<ReplaySampler> make_samplers();
  Result<Clock::time_point> all_here();
  Result<Clock::time_point> common_start();
  Result<int> finish();

  const ReplayOptions& options_;
  const ReplayRequest& request_;
  const testbed::ClusterSpec& spec_;
  Topology topology_;
  ReplayWorkload work_;
  workload::ReplayRows rows_;
  std::int64_t row_bytes_;
  RankId self_;
  // One for each path, with connections of its own, as a job would have that runs this path: what
  // incast does to the congestion windows of one path must not slow the next one.
  std::vector<Communicator> groups_;
  std::vector<RankSample> samples_;
};

Status ReplayRank::connect() {
  const auto identity = comm::identity_from_environment();
  if (!identity) return fail(identity.error());
  self_ = RankId(identity->rank);
  const auto devices = rail_devices(topology_);
  if (!devices) return fail(devices.error());
  for (std::size_t path = 0; path < request_.paths.size(); ++path) {
    auto group = make_group(static_cast<std::uint32_t>(path), *devices);
    if (!group) return fail(std::move(group).error());
    groups_.push_back(*std::move(group));
  }
  return {};
}

Result<Communicator> ReplayRank::make_group(std::uint32_t generation,
                                            const std::vector<std::string>& devices) const {
  CommunicatorOptions group;
  group.self = self_;
  group.max_tokens_per_rank = std::max<std::int64_t>(work_.max_tokens, 1);
  group.max_recv_rows = std::max<std::int64_t>(work_.max_recv_rows, 1);
  group.max_hidden = options_.hidden;
  group.widest_dtype = request_.dtype;
  group.max_top_k = work_.top_k;
  group.window_start = request_.window_start;
  if (request_.wave_start) group.wave_start = *request_.wave_start;
  if (request_.lead_bytes) group.lead_bytes = *request_.lead_bytes;
  if (request_.chunk_bytes) group.chunk_bytes = *request_.chunk_bytes;
  if (options_.slots > 0) group.send_slots = options_.slots;
  comm::UcxWiringOptions wires;
  wires.generation = generation;
  if (request_.socket_buffer) wires.send_buffer_bytes = *request_.socket_buffer;
  auto wiring =
      comm::wire_over_ucx(topology_, self_, devices, Clock::now() + group.deadlines.init, wires);
  if (!wiring) return fail(std::move(wiring).error());
  return Communicator::create(topology_, work_.placement, group, std::move(*wiring));
}

std::vector<ReplaySampler> ReplayRank::make_samplers() {
  std::vector<ReplaySampler> samplers;
  for (Communicator& group : groups_) {
    samplers.emplace_back(ReplaySampler::Setup{self_, &topology_, &work_, &rows_, request_.dtype,
                                               options_.hidden, &group,
                                               [this] { return common_start(); },
                                               [this]() -> Status {
                                                 const auto here = all_here();
                                                 if (!here) return fail(here.error());
                                                 return {};
                                               }});
  }
  return samplers;
}

/// When the latest rank came here. Nobody returns before it came.
Result<Clock::time_point> ReplayRank::all_here() {
  const std::int64_t now = Clock::now().time_since_epoch().count();
  const auto all = groups_.front().all_gather(std::as_bytes(std::span(&now, 1)));
  if (!all) return fail(all.error());
  std::int64_t latest = 0;
  for (const auto& bytes : *all) {
    std::int64_t theirs = 0;
    std::memcpy(&theirs, bytes.data(), std::min(bytes.size(), sizeof theirs));
    latest = std::max(latest, theirs);
  }
  return Clock::time_point(Clock::duration(latest));
}

/// All ranks leave at the same moment: the latest rank's, plus what a message to all takes.
Result<Clock::time_point> ReplayRank::common_start() {
  const auto latest = all_here();
  if (!latest) return fail(latest.error());
  const Clock::time_point start = *latest + std::chrono::milliseconds(20);
  RAILWAVE_TRY(sleep_until(start));
  return start;
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
      for (std::size_t i = 0; i < request_.paths.size(); ++i) {
        // Paths take turns in going first, so that a drift of the machine hits all alike.
        const auto turn = (i + static_cast<std::size_t>(repeat + 1)) % request_.paths.size();
        auto taken = samplers[turn].sample(layer, prepared, request_.paths[turn]);
        if (!taken) return fail(std::move(taken).error());
        taken->repeat = repeat;
        if (repeat >= 0) {
          samples_.push_back(*std::move(taken));
        } else if (taken->wrong > 0) {
          return fail(ErrorCode::IntegrityError, self_, "rows",
                      fmt::format("{} rows came back wrong in the warm-up", taken->wrong));
        }
        if (self_.value == 0) {
          fmt::print("{}{} {}\n", kProgressPrefix, ++done, total);
          std::fflush(stdout);
        }
      }
    }
  }
  return finish();
}

Result<int> ReplayRank::finish() {
  const auto gathered = groups_.front().all_gather(to_bytes(samples_));
  if (!gathered) return fail(gathered.error());
  if (self_.value != 0) return 0;
  std::vector<std::vector<RankSample>> by_rank;
  for (const auto& bytes : *gathered) {
    auto samples = samples_from(bytes);
    if (!samples) return fail(std::move(samples).error());
    by_rank.push_back(*std::move(samples));
  }
  const auto summary = ResultBuilder(options_, request_, spec_, topology_, work_).build(by_rank);
  if (!summary) return fail(summary.error());
  fmt::print("{}", report::to_table(*summary));
  if (!options_.json.empty()) {
    const auto json = report::to_json(*summary);
    if (!json) return fail(json.error());
    RAILWAVE_TRY(report::write_private_file(options_.json, *json));
  }
  const Status verdict = report::verdict(*summary);
  if (!verdict) return fail(verdict.error());
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
