// What a ticket saves: computing beside a phase, and two micro-batches whose phases are under way
// at the same time.
//
//   railwave emulate --nodes 2 --ranks-per-node 1 --rails 1 --rate 100mbit -- build/bin/overlap
// The ranks of --computing compute for a known time while a dispatch moves (a core must be free for
// the group's thread, and one for every other rank); the table compares that with the longer of the
// two. Then --batches micro-batches go through dispatch, experts of the same known time and
// combine, one after the other and with two under way.
#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/fail.hpp"
#include "path_groups.hpp"
#include "phase_start.hpp"
#include "report/environment.hpp"
#include "run_environment.hpp"
#include "testbed/cluster_spec.hpp"
#include "workload/random_routing.hpp"

namespace railwave::bench {
namespace {

struct Options {
  std::int64_t tokens = 64;
  std::int64_t hidden = 7168;
  int experts = 64;
  int top_k = 8;
  int iterations = 11;
  int computing = 1;  ///< ranks 0 .. computing - 1 compute
  int batches = 4;
};

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Work that takes as long as it has arithmetic to do, whatever the clock says meanwhile.
class Computation {
 public:
  /// Finds out how much arithmetic fits into a second: the fastest of some tries.
  Computation() {
    for (int i = 0; i < 20; ++i) {
      const auto begin = Clock::now();
      rounds(100'000);
      per_second_ = std::max(per_second_, 100'000 / seconds_since(begin));
    }
  }
  void run(double seconds) { rounds(static_cast<std::int64_t>(seconds * per_second_)); }

 private:
  void rounds(std::int64_t count) {
    double value = sink_;
    for (std::int64_t i = 0; i < count; ++i) value = value * 0.999999 + 1e-9;
    sink_ = value;
  }
  double per_second_ = 0;
  volatile double sink_ = 1;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// The buffers of one micro-batch.
struct Batch {
  std::vector<std::byte> recv_x;
  std::vector<std::byte> out;
  std::optional<Received> received;
};

class Rank {
 public:
  Rank(const Options& options, const Topology& topology) : o_(options), topology_(topology) {}
  Status connect();
  Status run();

 private:
  using Timed = std::function<Status()>;
  [[nodiscard]] DispatchArguments dispatch_input(Batch& batch) const;
  [[nodiscard]] CombineArguments combine_input(Batch& batch) const;
  [[nodiscard]] Communicator& group() { return groups_[0]; }
  [[nodiscard]] bool computes() const { return groups_.self().value < o_.computing; }
  void compute(double seconds) {
    if (computes()) computation_.run(seconds);
  }
  /// From the common start until every rank is through. Errors: those of `body`.
  Result<double> time(const Timed& body);
  /// Medians of several, taken in turns. Errors: those of the bodies.
  Result<std::vector<double>> medians(const std::vector<Timed>& bodies);

  Status phase();
  Status phase_beside(double seconds);
  Status expert(Batch& batch, double seconds);
  Status one_after_the_other(double seconds);
  Status two_under_way(double seconds);
  Status compare_computing(double phase_s);
  Status compare_batches(double seconds);

  const Options& o_;
  Topology topology_;
  cli::PathGroups groups_;
  workload::RankRouting routing_;
  std::vector<std::byte> x_;
  std::vector<Batch> batches_;
  Computation computation_;
};

Status Rank::connect() {
  auto placement = Placement::contiguous(o_.experts, topology_.ranks());
  if (!placement) return fail(std::move(placement).error());
  cli::GroupSettings settings;
  settings.max_tokens = o_.tokens;
  settings.max_recv_rows = o_.tokens * topology_.ranks();
  settings.hidden = o_.hidden;
  settings.top_k = o_.top_k;
  settings.phases_in_flight = 2;
  auto groups = cli::PathGroups::connect(topology_, *placement, settings, 1);
  if (!groups) return fail(std::move(groups).error());
  groups_ = *std::move(groups);
  auto routing = workload::random_routing(groups_.self(), {1, o_.tokens, o_.experts, o_.top_k});
  if (!routing) return fail(std::move(routing).error());
  routing_ = *std::move(routing);
  x_.resize(static_cast<std::size_t>(2 * o_.tokens * o_.hidden));
  batches_.resize(static_cast<std::size_t>(o_.batches));
  for (Batch& batch : batches_) {
    batch.recv_x.resize(x_.size() * static_cast<std::size_t>(topology_.ranks()));
    batch.out.resize(x_.size());
  }
  return {};
}

DispatchArguments Rank::dispatch_input(Batch& batch) const {
  DispatchArguments in;
  in.x = x_.data();
  in.tokens = o_.tokens;
  in.hidden = o_.hidden;
  in.top_k = o_.top_k;
  in.topk_idx = routing_.topk_idx;
  in.recv_x = batch.recv_x;
  return in;
}

CombineArguments Rank::combine_input(Batch& batch) const {
  CombineArguments in;
  in.handle = batch.received->handle;
  in.x = batch.received->x;
  in.rows = batch.received->rows;
  in.hidden = o_.hidden;
  in.out = batch.out;
  return in;
}

Result<double> Rank::time(const Timed& body) {
  const auto begin = groups_.common_start();
  if (!begin) return fail(begin.error());
  RAILWAVE_TRY(body());
  const auto gather = [this](std::span<const std::byte> mine) { return groups_.all_gather(mine); };
  const auto end = cli::all_here(gather);
  if (!end) return fail(end.error());
  return std::chrono::duration<double>(*end - *begin).count();
}

Result<std::vector<double>> Rank::medians(const std::vector<Timed>& bodies) {
  std::vector<std::vector<double>> samples(bodies.size());
  for (int round = -1; round < o_.iterations; ++round) {  // the first one warms up
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      const auto took = time(bodies[i]);
      if (!took) return fail(took.error());
      if (round >= 0) samples[i].push_back(*took);
    }
  }
  std::vector<double> out;
  for (const auto& taken : samples) out.push_back(median(taken));
  return out;
}

Status Rank::phase() {
  auto received = group().dispatch(dispatch_input(batches_.front()));
  if (!received) return fail(std::move(received).error());
  return {};
}

Status Rank::phase_beside(double seconds) {
  auto ticket = group().dispatch_async(dispatch_input(batches_.front()));
  if (!ticket) return fail(std::move(ticket).error());
  compute(seconds);
  auto received = ticket->wait();
  if (!received) return fail(std::move(received).error());
  return {};
}

Status Rank::one_after_the_other(double seconds) {
  for (Batch& batch : batches_) {
    auto received = group().dispatch(dispatch_input(batch));
    if (!received) return fail(std::move(received).error());
    batch.received = *std::move(received);
    compute(seconds);
    const auto combined = group().combine(combine_input(batch));
    if (!combined) return fail(combined.error());
  }
  return {};
}

/// While the experts of one batch compute, the next one's rows and the last one's results move.
Status Rank::two_under_way(double seconds) {
  auto next = group().dispatch_async(dispatch_input(batches_.front()));
  Ticket<PhaseReport> back;
  for (std::size_t i = 0; i < batches_.size(); ++i) {
    if (!next) return fail(std::move(next).error());
    auto received = next->wait();
    if (!received) return fail(std::move(received).error());
    batches_[i].received = *std::move(received);
    if (i + 1 < batches_.size()) next = group().dispatch_async(dispatch_input(batches_[i + 1]));
    compute(seconds);
    if (back.valid()) {
      const auto combined = back.wait();
      if (!combined) return fail(combined.error());
    }
    auto ticket = group().combine_async(combine_input(batches_[i]));
    if (!ticket) return fail(std::move(ticket).error());
    back = std::move(*ticket);
  }
  const auto combined = back.wait();
  return combined ? Status{} : Status(fail(combined.error()));
}

Status Rank::compare_computing(double phase_s) {
  if (groups_.self().value == 0) {
    const auto here = report::environment_now(1);
    fmt::print("# {} ranks, {} of them compute, {} cores, {}, load {:.2f}; {} rounds, medians\n",
               topology_.ranks(), o_.computing, here.cores, here.kernel, here.load_average.front(),
               o_.iterations);
    fmt::print("# {:>12} {:>12} {:>12} {:>14}\n", "computing", "phase", "together",
               "over the longer");
    fmt::print("# {:>12} {:>12} {:>12} {:>14}\n", "(ms)", "(ms)", "(ms)", "(x)");
  }
  for (const double part : {0.5, 1.0, 2.0}) {
    const double seconds = part * phase_s;
    const auto took = medians({[&] { return phase(); },
                               [&]() -> Status {
                                 compute(seconds);
                                 return {};
                               },
                               [&] { return phase_beside(seconds); }});
    if (!took) return fail(took.error());
    if (groups_.self().value != 0) continue;
    fmt::print("  {:>12.1f} {:>12.1f} {:>12.1f} {:>14.3f}\n", 1e3 * (*took)[1], 1e3 * (*took)[0],
               1e3 * (*took)[2], (*took)[2] / std::max((*took)[0], (*took)[1]));
  }
  return {};
}

Status Rank::compare_batches(double seconds) {
  const auto took = medians(
      {[&] { return one_after_the_other(seconds); }, [&] { return two_under_way(seconds); }});
  if (!took) return fail(took.error());
  if (groups_.self().value != 0) return {};
  fmt::print("#\n# {} micro-batches of dispatch, {:.1f} ms of experts, combine\n", o_.batches,
             1e3 * seconds);
  fmt::print("# {:>20} {:>20} {:>10}\n", "one after the other", "two under way", "saved");
  fmt::print("  {:>17.1f} ms {:>17.1f} ms {:>9.1f}%\n", 1e3 * (*took)[0], 1e3 * (*took)[1],
             100 * (1 - (*took)[1] / (*took)[0]));
  return {};
}

Status Rank::run() {
  const auto alone = medians({[&] { return phase(); }});
  if (!alone) return fail(alone.error());
  // Rank 0's figure is everyone's: the lengths must be the same.
  const double mine = alone->front();
  const auto all = groups_.all_gather(std::as_bytes(std::span(&mine, 1)));
  if (!all) return fail(all.error());
  double phase_s = 0;
  std::memcpy(&phase_s, all->front().data(), sizeof phase_s);
  RAILWAVE_TRY(compare_computing(phase_s));
  return compare_batches(phase_s);
}

Result<int> run(const Options& options) {
  const auto spec = cli::cluster_of_this_rank(
      "railwave emulate --nodes 2 --ranks-per-node 1 --rails 1 -- overlap");
  if (!spec) return fail(spec.error());
  const auto topology = Topology::create(testbed::topology_options(*spec));
  if (!topology) return fail(topology.error());
  Rank rank(options, *topology);
  RAILWAVE_TRY(rank.connect());
  RAILWAVE_TRY(rank.run());
  return 0;
}

}  // namespace
}  // namespace railwave::bench

int main(int argc, char** argv) {
  CLI::App app("What tickets save: computing beside a phase, and two micro-batches under way");
  railwave::bench::Options options;
  const auto add = [&](const char* name, auto& value, const char* text) {
    app.add_option(name, value, text)->check(CLI::PositiveNumber)->capture_default_str();
  };
  add("--tokens", options.tokens, "tokens of a rank");
  add("--hidden", options.hidden, "elements of a row, bf16");
  add("--experts", options.experts, "experts, dealt out contiguously");
  add("--top-k", options.top_k, "experts of a token");
  add("-n,--iterations", options.iterations, "rounds of each measurement");
  add("--computing", options.computing, "so many ranks compute, from rank 0 on");
  add("--batches", options.batches, "micro-batches of the second part");
  CLI11_PARSE(app, argc, argv);
  const auto status = railwave::bench::run(options);
  if (status) return *status;
  fmt::print(stderr, "overlap: {}\n", to_string(status.error()));
  return 1;
}
