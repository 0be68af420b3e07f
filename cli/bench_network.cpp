// railwave bench p2p, incast, permute: on a rank.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/fail.hpp"
#include "bench.hpp"
#include "emulated_run.hpp"
#include "launch_meeting.hpp"
#include "network_connections.hpp"
#include "network_flows.hpp"
#include "path_groups.hpp"
#include "phase_start.hpp"
#include "report/bench_result.hpp"
#include "run_environment.hpp"
#include "show_result.hpp"

namespace railwave::cli {
namespace {

/// What this rank received of one line in one round.
struct Arrival {
  double seconds = 0;  ///< 0: this rank receives nothing of the line
  std::int64_t wrong = 0;
};

class NetworkRank {
 public:
  NetworkRank(const BenchOptions& options, const BenchRequest& request,
              const testbed::ClusterSpec& spec, NetworkPattern pattern)
      : options_(options), request_(request), spec_(spec), pattern_(std::move(pattern)) {}

  Status connect(const Topology& topology);
  Result<int> run();

 private:
  [[nodiscard]] Gather gather() const;
  [[nodiscard]] std::size_t batches() const { return pattern_.in_turn ? pattern_.lines.size() : 1; }
  [[nodiscard]] Deadline round_deadline(std::int64_t bytes) const;
  Status measure_round(std::size_t batch, std::int64_t bytes, std::vector<Arrival>& arrivals);
  [[nodiscard]] report::NetworkResult result_of(
      const std::vector<std::vector<std::byte>>& by_rank) const;
  Result<int> finish();

  const BenchOptions& options_;
  const BenchRequest& request_;
  const testbed::ClusterSpec& spec_;
  NetworkPattern pattern_;
  RankId self_;
  std::unique_ptr<comm::AllGather> all_gather_;
  std::optional<NetworkConnections> connections_;
  std::vector<Arrival> arrivals_;  // [sizes][rounds][lines]
};

Gather NetworkRank::gather() const {
  return [all_gather = all_gather_.get()](std::span<const std::byte> mine) {
    return all_gather->all_gather(mine, Clock::now() + std::chrono::seconds(120));
  };
}

Status NetworkRank::connect(const Topology& topology) {
  auto met = meet_launched_ranks();
  if (!met) return fail(std::move(met).error());
  self_ = met->self;
  all_gather_ = std::move(met->all_gather);
  auto devices = rail_devices(topology.rails());
  if (!devices) return fail(std::move(devices).error());
  auto connected = NetworkConnections::connect(
      {self_, &topology, &pattern_.flows, *std::move(devices), gather(), options_.seed});
  if (!connected) return fail(std::move(connected).error());
  connections_ = *std::move(connected);
  return {};
}

/// Many times what the slowest line needs: incast may lose most of a rail to retransmissions.
Deadline NetworkRank::round_deadline(std::int64_t bytes) const {
  double seconds = 0;
  for (const NetworkLine& line : pattern_.lines) {
    seconds = std::max(seconds, 8.0 * static_cast<double>(bytes) * line.senders /
                                    static_cast<double>(line.nominal_bit_s));
  }
  return Clock::now() + std::chrono::seconds(30) +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(50 * seconds));
}

Status NetworkRank::measure_round(std::size_t batch, std::int64_t bytes,
                                  std::vector<Arrival>& arrivals) {
  std::map<std::size_t, Clock::time_point> ended;
  const auto selected = [&](const NetworkFlow& flow) {
    return !pattern_.in_turn || flow.line == batch;
  };
  const auto start = common_start(gather());
  if (!start) return fail(start.error());
  RAILWAVE_TRY(connections_->move(selected, round_deadline(bytes), ended));
  if (const auto here = all_here(gather()); !here) return fail(here.error());
  for (const auto& [flow, end] : ended) {
    Arrival& arrival = arrivals[pattern_.flows[flow].line];
    arrival.seconds =
        std::max(arrival.seconds, std::chrono::duration<double>(end - *start).count());
    if (options_.check != 0 && !connections_->check(flow)) ++arrival.wrong;
  }
  return {};
}

Result<int> NetworkRank::run() {
  const int rounds = options_.warmups + options_.iterations;
  const std::int64_t total =
      std::int64_t{rounds} * static_cast<std::int64_t>(request_.bytes.size() * batches());
  std::int64_t done = 0;
  for (const std::int64_t bytes : request_.bytes) {
    connections_->prepare(bytes);
    for (int round = 0; round < rounds; ++round) {
      std::vector<Arrival> arrivals(pattern_.lines.size());
      for (std::size_t batch = 0; batch < batches(); ++batch) {
        RAILWAVE_TRY(measure_round(batch, bytes, arrivals));
        if (self_.value == 0) say_progress(++done, total);
      }
      arrivals_.insert(arrivals_.end(), arrivals.begin(), arrivals.end());
    }
  }
  return finish();
}

report::NetworkResult NetworkRank::result_of(
    const std::vector<std::vector<std::byte>>& by_rank) const {
  report::NetworkResult out;
  out.operation = options_.operation;
  out.cluster = cluster_facts(spec_);
  out.environment = run_environment(spec_, options_.seed);
  out.rounds = {options_.iterations, options_.warmups, options_.check != 0};
  const int rounds = options_.warmups + options_.iterations;
  for (std::size_t l = 0; l < pattern_.lines.size(); ++l) {
    const NetworkLine& line = pattern_.lines[l];
    report::NetworkRail rail{line.rail, line.route, line.senders, line.nominal_bit_s, {}};
    std::size_t at = l;
    for (const std::int64_t bytes : request_.bytes) {
      report::NetworkSize size;
      size.size_bytes = bytes;
      for (int round = 0; round < rounds; ++round, at += pattern_.lines.size()) {
        double last = 0;
        for (const auto& theirs : by_rank) {
          Arrival arrival;
          std::memcpy(&arrival, theirs.data() + at * sizeof arrival, sizeof arrival);
          last = std::max(last, arrival.seconds);
          size.wrong += arrival.wrong;
        }
        if (round >= options_.warmups) size.samples.push_back(last);
      }
      rail.sizes.push_back(std::move(size));
    }
    out.rails.push_back(std::move(rail));
  }
  return out;
}

Result<int> NetworkRank::finish() {
  const auto own = std::as_bytes(std::span(arrivals_));
  const auto by_rank = gather()(own);
  if (!by_rank) return fail(by_rank.error());
  for (std::size_t p = 0; p < by_rank->size(); ++p) {
    if ((*by_rank)[p].size() == own.size()) continue;
    return fail(ErrorCode::ProtocolViolation, RankId(p), "arrivals", "are cut short");
  }
  if (self_.value != 0) return 0;
  report::NetworkResult result = result_of(*by_rank);
  RAILWAVE_TRY(report::summarise(result));
  RAILWAVE_TRY(show_result(result, options_.json));
  return 0;
}

}  // namespace

Result<int> bench_network(const BenchOptions& options, const BenchRequest& request,
                          const testbed::ClusterSpec& spec) {
  const auto topology = Topology::create(testbed::topology_options(spec));
  if (!topology) return fail(topology.error());
  NetworkRank rank(options, request, spec, network_pattern(options, spec, *topology));
  RAILWAVE_TRY(rank.connect(*topology));
  return rank.run();
}

}  // namespace railwave::cli
