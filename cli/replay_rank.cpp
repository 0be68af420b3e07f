// railwave replay, on a rank.
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <railwave/communicator.hpp>

#include "base/event_loop.hpp"
#include "base/fail.hpp"
#include "base/number_format.hpp"
#include "cluster_report.hpp"
#include "comm/bootstrap.hpp"
#include "comm/wiring.hpp"
#include "model/descriptors.hpp"
#include "plan/dispatch_plan.hpp"
#include "plan/lower_bound.hpp"
#include "replay.hpp"
#include "replay_samples.hpp"
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
    return fail(ErrorCode::InvalidArgument, "RAILWAVE_RAILS",
                fmt::format("names {} rails, the cluster has {}", devices.size(),
                            topology.rails()));
  }
  for (std::string& device : devices) {
    if (device == "-") device.clear();
  }
  return devices;
}

/// What the experts of one rank return: for each row the fp32 sum of its experts' rows in slot
/// order, rounded once to the row's dtype, as a framework would that applies no weights.
class ExpertSide {
 public:
  ExpertSide(const workload::ReplayRows& rows, DType dtype, std::int64_t hidden)
      : rows_(rows),
        dtype_(dtype),
        one_(static_cast<std::size_t>(rows.row_bytes())),
        sum_(static_cast<std::size_t>(hidden)) {}

  void fill(std::span<const ExpertId> experts, workload::RowIdentity row, std::byte* out) {
    if (experts.size() == 1) {
      rows_.fill_expert_row(experts.front(), row, {out, one_.size()});
      return;
    }
    std::fill(sum_.begin(), sum_.end(), 0.0F);
    for (const ExpertId expert : experts) {
      rows_.fill_expert_row(expert, row, one_);
      add(one_.data());
    }
    store(out);
  }

  /// sum += row; also used for the reference's own sums.
  void add(const std::byte* row) {
    for (std::size_t h = 0; h < sum_.size(); ++h) sum_[h] += load(row, h);
  }
  void reset() { std::fill(sum_.begin(), sum_.end(), 0.0F); }
  void store(std::byte* out) const {
    for (std::size_t h = 0; h < sum_.size(); ++h) {
      if (dtype_ == DType::FP32) {
        std::memcpy(out + 4 * h, &sum_[h], 4);
      } else {
        const std::uint16_t bits = fp32_to_bf16(sum_[h]);
        std::memcpy(out + 2 * h, &bits, 2);
      }
    }
  }

 private:
  [[nodiscard]] float load(const std::byte* row, std::size_t h) const {
    if (dtype_ == DType::FP32) {
      float value;
      std::memcpy(&value, row + 4 * h, 4);
      return value;
    }
    std::uint16_t bits;
    std::memcpy(&bits, row + 2 * h, 2);
    return bf16_to_fp32(bits);
  }

  const workload::ReplayRows& rows_;
  DType dtype_;
  std::vector<std::byte> one_;
  std::vector<float> sum_;
};

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
  struct Layer {  // what one layer's samples share
    std::vector<std::byte> x;
    std::vector<workload::RowIdentity> received;
    std::vector<std::byte> back;
    std::vector<std::byte> expected;
  };
  Layer prepare(std::size_t layer);
  void expect(std::size_t layer, Layer& out);
  [[nodiscard]] std::vector<ExpertId> experts_at(const workload::RankRouting& routing,
                                                 std::int64_t token, RankId rank) const;
  Result<RankSample> sample(std::size_t layer, const Layer& prepared, Path path);
  Result<Clock::time_point> common_start();
  Result<int> finish();
  Result<report::ReplayResult> result(const std::vector<std::vector<RankSample>>& by_rank);
  Status add_bounds(report::PathResult& path) const;
  void describe_workload(report::WorkloadFacts& facts) const;

  const ReplayOptions& options_;
  const ReplayRequest& request_;
  const testbed::ClusterSpec& spec_;
  Topology topology_;
  ReplayWorkload work_;
  workload::ReplayRows rows_;
  std::int64_t row_bytes_;
  RankId self_;
  std::optional<Communicator> group_;
  std::vector<RankSample> samples_;
};

Status ReplayRank::connect() {
  const auto identity = comm::identity_from_environment();
  if (!identity) return fail(identity.error());
  self_ = RankId(identity->rank);
  const auto devices = rail_devices(topology_);
  if (!devices) return fail(devices.error());
  CommunicatorOptions group;
  group.self = self_;
  group.max_tokens_per_rank = std::max<std::int64_t>(work_.max_tokens, 1);
  group.max_recv_rows = std::max<std::int64_t>(work_.max_recv_rows, 1);
  group.max_hidden = options_.hidden;
  group.widest_dtype = request_.dtype;
  group.max_top_k = work_.top_k;
  group.window_start = request_.window_start;
  if (request_.wave_start) group.wave_start = *request_.wave_start;
  if (request_.lead_bytes) group.grant_lead_bytes = *request_.lead_bytes;
  if (request_.chunk_bytes) group.chunk_bytes = *request_.chunk_bytes;
  if (options_.slots > 0) group.send_slots = options_.slots;
  comm::SocketBuffers buffers;
  if (request_.socket_buffer) buffers.send = *request_.socket_buffer;
  auto wiring = comm::wire_over_ucx(topology_, self_, *devices,
                                    Clock::now() + group.deadlines.init, buffers);
  if (!wiring) return fail(std::move(wiring).error());
  auto made = Communicator::create(topology_, work_.placement, group, std::move(*wiring));
  if (!made) return fail(std::move(made).error());
  group_ = std::move(*made);
  return {};
}

std::vector<ExpertId> ReplayRank::experts_at(const workload::RankRouting& routing,
                                             std::int64_t token, RankId rank) const {
  std::vector<ExpertId> experts;
  for (int k = 0; k < routing.top_k; ++k) {
    const std::int64_t expert =
        routing.topk_idx[static_cast<std::size_t>(token * routing.top_k + k)];
    if (expert < 0) continue;
    const ExpertId id(static_cast<std::int32_t>(expert));
    if (work_.placement.owner(id) == rank) experts.push_back(id);
  }
  return experts;
}

/// The combined rows, summed in the order of the definition: ranks of a node ascending, rounded,
/// nodes ascending, rounded. One process, no rails.
void ReplayRank::expect(std::size_t layer, Layer& out) {
  const workload::RankRouting& routing = work_.layers[layer].routing[self_.index()];
  ExpertSide experts(rows_, request_.dtype, options_.hidden);
  ExpertSide partial(rows_, request_.dtype, options_.hidden);
  ExpertSide total(rows_, request_.dtype, options_.hidden);
  std::vector<std::byte> row(static_cast<std::size_t>(row_bytes_));
  for (std::int64_t t = 0; t < routing.tokens; ++t) {
    total.reset();
    for (int n = 0; n < topology_.nodes(); ++n) {
      bool any = false;
      partial.reset();
      for (int local = 0; local < topology_.ranks_at(NodeId(n)); ++local) {
        const auto here = experts_at(routing, t, topology_.rank_at(NodeId(n), local));
        if (here.empty()) continue;
        any = true;
        experts.fill(here, {self_, t}, row.data());
        partial.add(row.data());
      }
      if (!any) continue;
      partial.store(row.data());
      total.add(row.data());
    }
    total.store(out.expected.data() + t * row_bytes_);
  }
}

ReplayRank::Layer ReplayRank::prepare(std::size_t layer) {
  Layer out;
  const ReplayLayer& work = work_.layers[layer];
  const auto bytes = static_cast<std::size_t>(work.routing[self_.index()].tokens * row_bytes_);
  out.x.resize(bytes);
  out.expected.resize(bytes);
  rows_.fill_rows(self_, 0, out.x);
  out.received = work_.received(layer, self_);
  out.back.resize(out.received.size() * static_cast<std::size_t>(row_bytes_));
  ExpertSide experts(rows_, request_.dtype, options_.hidden);
  for (std::size_t i = 0; i < out.received.size(); ++i) {
    const workload::RowIdentity& row = out.received[i];
    experts.fill(experts_at(work.routing[row.source.index()], row.token, self_), row,
                 out.back.data() + static_cast<std::int64_t>(i) * row_bytes_);
  }
  expect(layer, out);
  return out;
}

/// All ranks leave at the same moment: the latest rank's, plus what a message to all takes.
Result<Clock::time_point> ReplayRank::common_start() {
  const std::int64_t now = Clock::now().time_since_epoch().count();
  const auto all = group_->all_gather(std::as_bytes(std::span(&now, 1)));
  if (!all) return fail(all.error());
  std::int64_t latest = 0;
  for (const auto& bytes : *all) {
    std::int64_t theirs = 0;
    std::memcpy(&theirs, bytes.data(), std::min(bytes.size(), sizeof theirs));
    latest = std::max(latest, theirs);
  }
  const Clock::time_point start{Clock::duration(latest) + std::chrono::milliseconds(20)};
  RAILWAVE_TRY(sleep_until(start));
  return start;
}

double seconds_from(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Result<RankSample> ReplayRank::sample(std::size_t layer, const Layer& prepared, Path path) {
  const ReplayLayer& work = work_.layers[layer];
  const workload::RankRouting& routing = work.routing[self_.index()];
  RankSample out;
  out.path = path;
  out.layer = static_cast<int>(layer);
  DispatchArguments in;
  in.x = prepared.x.data();
  in.tokens = routing.tokens;
  in.hidden = options_.hidden;
  in.dtype = request_.dtype;
  in.top_k = routing.top_k;
  in.topk_idx = routing.topk_idx;
  in.path = path;
  in.windows = work.windows;
  auto start = common_start();
  if (!start) return fail(start.error());
  auto received = group_->dispatch(in);
  out.dispatch_s = seconds_from(*start);
  if (!received) return fail(std::move(received).error());
  out.dispatch = std::move(received->report);
  const std::span<const std::byte> rows(received->x,
                                        static_cast<std::size_t>(received->rows * row_bytes_));
  out.wrong = received->rows == static_cast<std::int64_t>(prepared.received.size())
                  ? rows_.count_wrong_rows(rows, prepared.received)
                  : static_cast<std::int64_t>(prepared.received.size());
  std::vector<std::byte> combined(prepared.x.size());
  CombineArguments co;
  co.handle = received->handle;
  co.x = prepared.back.data();
  co.rows = received->rows;
  co.hidden = options_.hidden;
  co.dtype = request_.dtype;
  co.out = combined;
  start = common_start();
  if (!start) return fail(start.error());
  auto report = group_->combine(co);
  out.combine_s = seconds_from(*start);
  if (!report) return fail(std::move(report).error());
  out.combine = *std::move(report);
  for (std::size_t at = 0; at < combined.size(); at += static_cast<std::size_t>(row_bytes_)) {
    if (std::memcmp(combined.data() + at, prepared.expected.data() + at,
                    static_cast<std::size_t>(row_bytes_)) != 0) {
      ++out.wrong;
    }
  }
  out.bits = workload::hash_rows(combined);
  return out;
}

Result<int> ReplayRank::run() {
  const std::int64_t total = static_cast<std::int64_t>(work_.layers.size()) *
                             (options_.repeats + 1) *
                             static_cast<std::int64_t>(request_.paths.size());
  std::int64_t done = 0;
  for (std::size_t layer = 0; layer < work_.layers.size(); ++layer) {
    const Layer prepared = prepare(layer);
    // The first round of a layer warms caches and congestion windows and is not counted.
    for (int repeat = -1; repeat < options_.repeats; ++repeat) {
      for (std::size_t i = 0; i < request_.paths.size(); ++i) {
        // Paths take turns in going first, so that a drift of the machine hits all alike.
        const auto turn = (i + static_cast<std::size_t>(repeat + 1)) % request_.paths.size();
        auto taken = sample(layer, prepared, request_.paths[turn]);
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

void ReplayRank::describe_workload(report::WorkloadFacts& facts) const {
  facts.trace = work_.trace_name;
  facts.routing = options_.routing;
  facts.schedule = request_.by_trace ? "all-at-once" : options_.schedule;
  if (!request_.by_trace) {
    facts.placement = options_.placement;
    facts.payload_mib = options_.payload_mib;
  }
  facts.layers = static_cast<int>(work_.layers.size());
  facts.experts = work_.placement.experts();
  facts.top_k = work_.top_k;
  facts.dtype = to_string(request_.dtype);
  facts.hidden = options_.hidden;
  facts.row_bytes = row_bytes_;
  RailCounts all(topology_.nodes(), topology_.rails());
  for (const ReplayLayer& layer : work_.layers) {
    facts.rows += layer.counts.total();
    for (int s = 0; s < topology_.nodes(); ++s) {
      for (int r = 0; r < topology_.rails(); ++r) {
        for (int d = 0; d < topology_.nodes(); ++d) {
          const std::int64_t sum = all.at(NodeId(s), RailId(r), NodeId(d)) +
                                   layer.counts.at(NodeId(s), RailId(r), NodeId(d));
          all.set(NodeId(s), RailId(r), NodeId(d), sum);
        }
      }
    }
    const auto one = railwave::describe(layer.counts, layer.windows, row_bytes_,
                                        topology_.ranks());
    if (!one || !one->receiver_concentration) continue;
    facts.receiver_concentration = std::max(facts.receiver_concentration.value_or(0),
                                            one->receiver_concentration->value());
    facts.fan_in = std::max(facts.fan_in.value_or(0), one->fan_in);
  }
  const auto together = railwave::describe(all, {}, row_bytes_, topology_.ranks());
  if (together && together->rail_skew) facts.rail_skew = together->rail_skew->value();
}

Status ReplayRank::add_bounds(report::PathResult& out) const {
  const Path path = *path_from_string(out.name);
  const double rate = static_cast<double>(spec_.rate) / 8;
  const auto seconds = [&](Ratio records) {
    return plan::bound_seconds(records, row_bytes_, rate, spec_.burst);
  };
  out.bound_s = 0;
  out.path_bound_s = 0;
  for (const ReplayLayer& layer : work_.layers) {
    const auto plan = plan::DispatchPlan::create(topology_, layer.counts, {path, layer.windows});
    if (!plan) return fail(plan.error());
    const bool free = !uses_waves(path) && request_.window_start == StartPolicy::Free;
    const Ratio along{free ? plan::free_path_bound_records(*plan)
                           : plan::barrier_path_bound_records(*plan),
                      1};
    // Combine carries as many bytes on the same rails, the other way.
    *out.bound_s += seconds(plan::bound_records(topology_, layer.counts)) +
                    seconds(plan::bound_records(topology_, layer.counts.transposed()));
    *out.path_bound_s += 2 * seconds(along);
  }
  return {};
}

Result<report::ReplayResult> ReplayRank::result(
    const std::vector<std::vector<RankSample>>& by_rank) {
  report::ReplayResult out;
  out.cluster.nodes = topology_.nodes();
  out.cluster.ranks_per_node = spec_.ranks_per_node;
  out.cluster.rails = topology_.rails();
  out.cluster.rail_bit_s = spec_.rate;
  out.cluster.emulated = true;
  out.cluster.switch_buffer_bytes = spec_.buffer;
  out.cluster.burst_bytes = spec_.burst;
  out.cluster.mtu = spec_.mtu;
  out.environment = report::environment_now(options_.seed);
  out.environment.congestion_control = spec_.congestion;
  if (const char* gate = std::getenv(kGateVariable)) {
    double share = 0;
    double lone = 0;
    if (std::sscanf(gate, "%lf %lf", &share, &lone) == 2) {
      out.environment.gate = report::judge_gate(share, lone);
    }
  }
  describe_workload(out.workload);
  for (const Path path : request_.paths) {
    auto row = path_result(path, topology_, static_cast<int>(work_.layers.size()), by_rank);
    if (!row) return fail(std::move(row).error());
    const StartPolicy start =
        uses_waves(path) ? request_.wave_start.value_or(CommunicatorOptions{}.wave_start)
                         : request_.window_start;
    row->start = to_string(start);
    RAILWAVE_TRY(add_bounds(*row));
    out.paths.push_back(*std::move(row));
  }
  RAILWAVE_TRY(report::summarise(out));
  return out;
}

Result<int> ReplayRank::finish() {
  const auto gathered = group_->all_gather(to_bytes(samples_));
  if (!gathered) return fail(gathered.error());
  if (self_.value != 0) return 0;
  std::vector<std::vector<RankSample>> by_rank;
  for (const auto& bytes : *gathered) {
    auto samples = samples_from(bytes);
    if (!samples) return fail(std::move(samples).error());
    by_rank.push_back(*std::move(samples));
  }
  const auto summary = result(by_rank);
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
