// The exchange of `railwave bench round-trip` as a framework without an EP library does it: pack
// the rows by destination rank, MPI_Alltoallv, unpack, and the same back.
//
//   mpirun -n 8 build/bin/mpi_alltoallv --tokens 1024 --hidden 7168 --top-k 8 --experts 64
// All ranks are on one machine (as root, and with more ranks than cores: mpirun --allow-run-as-root
// --oversubscribe). Routing, contents, checks, times and columns are those of `railwave bench` with
// --nodes 1. A row travels once for each rank that has some of its experts; expert ids and weights
// travel with it. Received rows come out in the library's order, so that dispatch has nothing to
// unpack. The way back sums at the token, with the library's own vectorised sum.
#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <mpi.h>

#include "base/fail.hpp"
#include "bench_options.hpp"
#include "bench_sizes.hpp"
#include "bench_workload.hpp"
#include "exec/reduce.hpp"
#include "phase_start.hpp"
#include "replay_sample.hpp"
#include "report/bench_result.hpp"
#include "report/private_file.hpp"
#include "workload/replay_rows.hpp"

namespace railwave::bench {
namespace {

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

/// Counts and offsets of one direction of an Alltoallv, in rows.
struct Shares {
  std::vector<int> counts;
  std::vector<int> offsets;
  void place() {
    offsets.resize(counts.size());
    std::exclusive_scan(counts.begin(), counts.end(), offsets.begin(), 0);
  }
  [[nodiscard]] std::size_t total() const {
    return static_cast<std::size_t>(offsets.back() + counts.back());
  }
};

/// One slot of a row as it travels.
struct Slot {
  std::int32_t expert = -1;  ///< local to the receiver, -1 where it belongs to another rank
  float weight = 0;
};

/// Gathers equally or differently long parts of all ranks.
Result<std::vector<std::vector<std::byte>>> gather_all(std::span<const std::byte> mine) {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  Shares shares;
  shares.counts.resize(static_cast<std::size_t>(ranks));
  const int own = static_cast<int>(mine.size());
  MPI_Allgather(&own, 1, MPI_INT, shares.counts.data(), 1, MPI_INT, MPI_COMM_WORLD);
  shares.place();
  std::vector<std::byte> all(shares.total());
  MPI_Allgatherv(mine.data(), own, MPI_BYTE, all.data(), shares.counts.data(),
                 shares.offsets.data(), MPI_BYTE, MPI_COMM_WORLD);
  std::vector<std::vector<std::byte>> out;
  for (std::size_t p = 0; p < shares.counts.size(); ++p) {
    const auto first = all.begin() + shares.offsets[p];
    out.emplace_back(first, first + shares.counts[p]);
  }
  return out;
}

class Exchange {
 public:
  Exchange(const cli::ReplayWorkload& work, DType dtype, std::int64_t hidden)
      : work_(work),
        row_bytes_(static_cast<std::size_t>(hidden * element_bytes(dtype))),
        ranks_(static_cast<std::size_t>(work.placement.ranks())),
        sum_(dtype, hidden) {
    const auto capacity = static_cast<std::size_t>(work.max_recv_rows);
    const auto slots = static_cast<std::size_t>(work.top_k);
    const auto sent = static_cast<std::size_t>(work.max_tokens) * std::min(ranks_, slots);
    packed_.resize(sent * row_bytes_);
    packed_slots_.resize(sent * slots);
    received_.resize(capacity * row_bytes_);
    received_slots_.resize(capacity * slots);
    MPI_Type_contiguous(static_cast<int>(row_bytes_), MPI_BYTE, &row_type_);
    MPI_Type_contiguous(static_cast<int>(slots * sizeof(Slot)), MPI_BYTE, &slots_type_);
    MPI_Type_commit(&row_type_);
    MPI_Type_commit(&slots_type_);
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange() {
    MPI_Type_free(&row_type_);
    MPI_Type_free(&slots_type_);
  }

  void dispatch(const workload::RankRouting& routing, const std::vector<std::byte>& x,
                PhaseReport& report) {
    const auto begin = Clock::now();
    lay_out(routing);
    std::vector<int> next = out_.offsets;
    const auto slots = static_cast<std::size_t>(routing.top_k);
    for (std::size_t t = 0; t < destinations_.size(); ++t) {
      for (const RankId to : destinations_[t]) {
        const auto at = static_cast<std::size_t>(next[to.index()]++);
        std::memcpy(packed_.data() + at * row_bytes_, x.data() + t * row_bytes_, row_bytes_);
        write_slots(routing, t, to, packed_slots_.data() + at * slots);
      }
    }
    const auto packed = Clock::now();
    in_.counts.resize(ranks_);
    MPI_Alltoall(out_.counts.data(), 1, MPI_INT, in_.counts.data(), 1, MPI_INT, MPI_COMM_WORLD);
    in_.place();
    MPI_Alltoallv(packed_slots_.data(), out_.counts.data(), out_.offsets.data(), slots_type_,
                  received_slots_.data(), in_.counts.data(), in_.offsets.data(), slots_type_,
                  MPI_COMM_WORLD);
    MPI_Alltoallv(packed_.data(), out_.counts.data(), out_.offsets.data(), row_type_,
                  received_.data(), in_.counts.data(), in_.offsets.data(), row_type_,
                  MPI_COMM_WORLD);
    report.pack_s = seconds_between(begin, packed);
    report.wire_s = seconds_between(packed, Clock::now());
  }

  /// `back` has the received rows' answers in their order; sums go to `combined`.
  void combine(const std::vector<std::byte>& back, std::vector<std::byte>& combined,
               PhaseReport& report) {
    const auto begin = Clock::now();
    MPI_Alltoallv(back.data(), in_.counts.data(), in_.offsets.data(), row_type_, packed_.data(),
                  out_.counts.data(), out_.offsets.data(), row_type_, MPI_COMM_WORLD);
    const auto moved = Clock::now();
    std::vector<int> next = out_.offsets;
    for (std::size_t t = 0; t < destinations_.size(); ++t) {
      sum_.reset();
      for (const RankId from : destinations_[t]) {
        const auto at = static_cast<std::size_t>(next[from.index()]++);
        sum_.add(packed_.data() + at * row_bytes_);
      }
      sum_.store(combined.data() + t * row_bytes_);
    }
    report.wire_s = seconds_between(begin, moved);
    report.reorder_s = seconds_between(moved, Clock::now());
  }

  [[nodiscard]] std::span<const std::byte> received() const {
    return std::span(received_).first(in_.total() * row_bytes_);
  }
  [[nodiscard]] std::size_t received_rows() const { return in_.total(); }

 private:
  /// Ranks of every token, ascending, and how many rows each rank gets.
  void lay_out(const workload::RankRouting& routing) {
    out_.counts.assign(ranks_, 0);
    destinations_.resize(static_cast<std::size_t>(routing.tokens));
    auto expert = routing.topk_idx.begin();
    for (std::vector<RankId>& ranks : destinations_) {
      ranks.clear();
      for (int k = 0; k < routing.top_k; ++k, ++expert) {
        const RankId owner = owner_of(*expert);
        const auto place = std::lower_bound(ranks.begin(), ranks.end(), owner);
        if (place == ranks.end() || *place != owner) ranks.insert(place, owner);
      }
      for (const RankId rank : ranks) ++out_.counts[rank.index()];
    }
    out_.place();
  }

  void write_slots(const workload::RankRouting& routing, std::size_t token, RankId to,
                   Slot* out) const {
    const auto slots = static_cast<std::size_t>(routing.top_k);
    for (std::size_t k = 0; k < slots; ++k) {
      const std::int64_t expert = routing.topk_idx[token * slots + k];
      const ExpertId id(static_cast<std::int32_t>(expert));
      out[k] = owner_of(expert) == to ? Slot{work_.placement.local_index(id), 1.0F} : Slot{};
    }
  }

  [[nodiscard]] RankId owner_of(std::int64_t expert) const {
    return work_.placement.owner(ExpertId(static_cast<std::int32_t>(expert)));
  }

  const cli::ReplayWorkload& work_;
  std::size_t row_bytes_;
  std::size_t ranks_;
  exec::RowSum sum_;
  MPI_Datatype row_type_{};
  MPI_Datatype slots_type_{};
  Shares out_;
  Shares in_;
  std::vector<std::vector<RankId>> destinations_;  // [T]
  std::vector<std::byte> packed_;
  std::vector<Slot> packed_slots_;
  std::vector<std::byte> received_;
  std::vector<Slot> received_slots_;
};

struct Setting {
  const cli::BenchOptions& options;
  const cli::BenchRequest& request;
  const cli::ReplayWorkload& work;
  const workload::ReplayRows& rows;
  RankId self;
};

Result<cli::RankSample> sample(Exchange& exchange, const Setting& setting,
                               const cli::PreparedLayer& prepared) {
  cli::RankSample out;
  out.path = setting.request.paths.front();
  std::vector<std::byte> combined(prepared.x.size());
  const auto& routing = setting.work.layers.front().routing[setting.self.index()];
  for (const bool way_back : {false, true}) {
    const auto start = cli::common_start(gather_all);
    if (!start) return fail(start.error());
    if (way_back) {
      exchange.combine(prepared.back, combined, out.combine);
    } else {
      exchange.dispatch(routing, prepared.x, out.dispatch);
    }
    (way_back ? out.combine_s : out.dispatch_s) = seconds_between(*start, Clock::now());
    if (const auto here = cli::all_here(gather_all); !here) return fail(here.error());
  }
  if (setting.options.check == 0) return out;
  const auto row = static_cast<std::size_t>(setting.request.row_bytes);
  out.wrong = exchange.received_rows() == prepared.received.size()
                  ? setting.rows.count_wrong_rows(exchange.received(), prepared.received)
                  : std::ssize(prepared.received);
  for (std::size_t at = 0; at < combined.size(); at += row) {
    if (std::memcmp(combined.data() + at, prepared.expected.data() + at, row) != 0) ++out.wrong;
  }
  out.bits = workload::hash_rows(combined);
  return out;
}

Result<std::vector<cli::RankSample>> measure(const Setting& setting, const Topology& topology) {
  cli::ReplaySampler::Setup prepare;
  prepare.self = setting.self;
  prepare.topology = &topology;
  prepare.work = &setting.work;
  prepare.rows = &setting.rows;
  prepare.dtype = setting.request.dtype;
  prepare.hidden = setting.options.hidden;
  prepare.check = setting.options.check != 0;
  const cli::PreparedLayer prepared = cli::ReplaySampler(prepare).prepare(0);
  Exchange exchange(setting.work, setting.request.dtype, setting.options.hidden);
  std::vector<cli::RankSample> samples;
  for (int round = -setting.options.warmups; round < setting.options.iterations; ++round) {
    auto taken = sample(exchange, setting, prepared);
    if (!taken) return fail(std::move(taken).error());
    taken->repeat = round;
    samples.push_back(*std::move(taken));
  }
  return samples;
}

Status print(const Setting& setting, const std::vector<std::vector<cli::RankSample>>& by_rank) {
  const cli::BenchOptions& options = setting.options;
  report::BenchResult result;
  result.operation = options.operation;
  result.cluster.nodes = 1;
  result.cluster.ranks_per_node = {static_cast<int>(by_rank.size())};
  result.cluster.rails = 1;
  result.environment = report::environment_now(options.seed);
  result.workload = {options.experts, options.top_k, std::string(to_string(setting.request.dtype)),
                     options.hidden, setting.request.row_bytes};
  result.rounds = {options.iterations, options.warmups, options.check != 0};
  auto lines = cli::bench_path(setting.request.paths.front(), setting.request, setting.work,
                               by_rank, options.check != 0);
  if (!lines) return fail(std::move(lines).error());
  lines->name = "openmpi";
  result.paths = {*std::move(lines)};
  RAILWAVE_TRY(report::summarise(result));
  fmt::print("{}", report::to_table(result));
  if (!options.json.empty()) {
    const auto json = report::to_json(result);
    if (!json) return fail(json.error());
    RAILWAVE_TRY(report::write_private_file(options.json, *json));
  }
  return report::verdict(result);
}

Status run(const cli::BenchOptions& options) {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const auto request = cli::understand(options, 1);
  if (!request) return fail(request.error());
  if (request->row_bytes > std::numeric_limits<int>::max()) {
    return fail(ErrorCode::Unsupported, "--hidden", "MPI counts the bytes of a row as an int");
  }
  const auto topology = Topology::uniform(1, ranks, 1);
  if (!topology) return fail(topology.error());
  const auto work = cli::make_bench_workload(
      {request->tokens, options.experts, options.top_k, options.seed}, *topology);
  if (!work) return fail(work.error());
  const auto rows = workload::ReplayRows::create(options.seed, request->dtype, options.hidden);
  if (!rows) return fail(rows.error());
  const Setting setting{options, *request, *work, *rows, RankId(rank)};
  const auto samples = measure(setting, *topology);
  if (!samples) return fail(samples.error());
  const auto gathered = gather_all(cli::to_bytes(*samples));
  if (!gathered) return fail(gathered.error());
  if (rank != 0) return {};
  std::vector<std::vector<cli::RankSample>> by_rank;
  for (const auto& bytes : *gathered) {
    auto theirs = cli::samples_from(bytes);
    if (!theirs) return fail(std::move(theirs).error());
    by_rank.push_back(*std::move(theirs));
  }
  return print(setting, by_rank);
}

}  // namespace
}  // namespace railwave::bench

int main(int argc, char** argv) {
  CLI::App app("Pack, MPI_Alltoallv, unpack, and back, on one machine", "mpi_alltoallv");
  railwave::cli::BenchOptions options;
  options.operation = "round-trip";
  options.tokens = 1024;
  railwave::cli::add_peer_options(app, options);
  CLI11_PARSE(app, argc, argv);
  MPI_Init(&argc, &argv);
  const auto status = railwave::bench::run(options);
  if (!status) {
    fmt::print(stderr, "mpi_alltoallv: {}\n", to_string(status.error()));
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return 0;
}
