// When records are packed: a phase's before it starts (prepacked), a wave's before it is sent
// (sequential), chunk by chunk while others are on their way (pipelined). The paper's appendix A.4.
//
//   railwave emulate --nodes 4 --ranks-per-node 1 --rails 1 --rate 16gbit --burst 8mb
//     --buffer 64mb -- build/bin/packing
// One rank a node and rails that hold nothing up, so that packing shows. Rounds of dispatch and
// combine on path joint, the three in turns; prepacked without its packing, as in the paper.
// "hidden" is the part of sequential's packing that pipelining hides, with the 95 % interval of a
// bootstrap over rounds.
#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <string>
#include <utility>
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

constexpr std::array kPackings{Packing::Prepacked, Packing::Sequential, Packing::Pipelined};

struct Options {
  std::vector<double> mib{2, 4, 8, 16, 32};
  std::int64_t hidden = 7168;
  int experts = 64;
  int top_k = 8;
  int iterations = 31;
};

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// When a rank was through with a phase, and how long it had packed before.
struct End {
  std::int64_t at = 0;  ///< of the steady clock
  double prepack_s = 0;
};

/// Seconds of each round, by packing.
using Rounds = std::array<std::vector<double>, kPackings.size()>;

struct Comparison {
  std::array<double, kPackings.size()> seconds{};
  [[nodiscard]] double hidden() const {
    return (seconds[1] - seconds[2]) / (seconds[1] - seconds[0]);
  }
};

Comparison compare(const Rounds& rounds) {
  Comparison out;
  for (std::size_t i = 0; i < rounds.size(); ++i) out.seconds[i] = median(rounds[i]);
  return out;
}

/// The 2.5 and the 97.5 percentile of `hidden` when rounds are drawn anew. Rounds of the three are
/// drawn together: the machine's drift is in all of them.
std::pair<double, double> interval(const Rounds& rounds) {
  constexpr int kDraws = 2000;
  std::mt19937 random(1);
  std::uniform_int_distribution<std::size_t> any(0, rounds[0].size() - 1);
  std::vector<double> drawn;
  for (int i = 0; i < kDraws; ++i) {
    Rounds sample;
    for (std::size_t n = 0; n < rounds[0].size(); ++n) {
      const std::size_t round = any(random);
      for (std::size_t p = 0; p < rounds.size(); ++p) sample[p].push_back(rounds[p][round]);
    }
    drawn.push_back(compare(sample).hidden());
  }
  std::sort(drawn.begin(), drawn.end());
  return {drawn[kDraws / 40], drawn[kDraws - 1 - kDraws / 40]};
}

class Rank {
 public:
  Rank(const Options& options, const Topology& topology) : o_(options), topology_(topology) {}
  Status connect();
  Status run();

 private:
  [[nodiscard]] std::int64_t tokens_of(double mib) const {
    return static_cast<std::int64_t>(mib * (1 << 20)) / (2 * o_.hidden);
  }
  Status measure(double mib);
  /// One dispatch and its combine: seconds until the last rank is through, without prepacking.
  Result<double> round(Communicator& group, const workload::RankRouting& routing);
  /// The common end less the common start, less the longest prepacking.
  Result<double> finish(Clock::time_point begin, const PhaseReport& report);
  void show(std::int64_t tokens, const Rounds& rounds) const;

  const Options& o_;
  Topology topology_;
  std::array<cli::PathGroups, kPackings.size()> groups_;
  std::vector<std::byte> x_;
  std::vector<std::byte> recv_x_;
  std::vector<std::byte> out_;
};

Status Rank::connect() {
  auto placement = Placement::contiguous(o_.experts, topology_.ranks());
  if (!placement) return fail(std::move(placement).error());
  cli::GroupSettings settings;
  settings.max_tokens = tokens_of(*std::max_element(o_.mib.begin(), o_.mib.end()));
  settings.max_recv_rows = settings.max_tokens * topology_.ranks();
  settings.hidden = o_.hidden;
  settings.top_k = o_.top_k;
  for (std::size_t i = 0; i < kPackings.size(); ++i) {
    settings.packing = kPackings[i];
    auto groups = cli::PathGroups::connect(topology_, *placement, settings, 1);
    if (!groups) return fail(std::move(groups).error());
    groups_[i] = *std::move(groups);
  }
  const auto row = static_cast<std::size_t>(2 * o_.hidden);
  x_.resize(static_cast<std::size_t>(settings.max_tokens) * row);
  out_.resize(x_.size());
  recv_x_.resize(static_cast<std::size_t>(settings.max_recv_rows) * row);
  return {};
}

Result<double> Rank::finish(Clock::time_point begin, const PhaseReport& report) {
  const End mine{Clock::now().time_since_epoch().count(), report.prepack_s};
  const auto all = groups_[0].all_gather(std::as_bytes(std::span(&mine, 1)));
  if (!all) return fail(all.error());
  End last = mine;
  for (const auto& bytes : *all) {
    End theirs;
    std::memcpy(&theirs, bytes.data(), sizeof theirs);
    last = {std::max(last.at, theirs.at), std::max(last.prepack_s, theirs.prepack_s)};
  }
  const Clock::time_point end{Clock::duration(last.at)};
  return std::chrono::duration<double>(end - begin).count() - last.prepack_s;
}

Result<double> Rank::round(Communicator& group, const workload::RankRouting& routing) {
  DispatchArguments in;
  in.x = x_.data();
  in.tokens = static_cast<std::int64_t>(routing.topk_idx.size()) / o_.top_k;
  in.hidden = o_.hidden;
  in.top_k = o_.top_k;
  in.topk_idx = routing.topk_idx;
  in.recv_x = recv_x_;
  auto begin = groups_[0].common_start();
  if (!begin) return fail(begin.error());
  const auto received = group.dispatch(in);
  if (!received) return fail(received.error());
  const auto there = finish(*begin, received->report);
  if (!there) return fail(there.error());
  CombineArguments back;
  back.handle = received->handle;
  back.x = received->x;
  back.rows = received->rows;
  back.hidden = o_.hidden;
  back.out = std::span(out_).first(static_cast<std::size_t>(2 * in.tokens * o_.hidden));
  begin = groups_[0].common_start();
  if (!begin) return fail(begin.error());
  const auto report = group.combine(back);
  if (!report) return fail(report.error());
  const auto back_again = finish(*begin, *report);
  if (!back_again) return fail(back_again.error());
  return *there + *back_again;
}

void Rank::show(std::int64_t tokens, const Rounds& rounds) const {
  const Comparison c = compare(rounds);
  const auto [low, high] = interval(rounds);
  fmt::print("  {:>9.2f} {:>11.3f} {:>11.3f} {:>11.3f} {:>9.2f}% {:>7.0f}%  {:.0f} .. {:.0f} %\n",
             static_cast<double>(2 * tokens * o_.hidden) / (1 << 20), 1e3 * c.seconds[0],
             1e3 * c.seconds[1], 1e3 * c.seconds[2], 100 * (1 - c.seconds[2] / c.seconds[1]),
             100 * c.hidden(), 100 * low, 100 * high);
}

Status Rank::measure(double mib) {
  const std::int64_t tokens = tokens_of(mib);
  const auto routing =
      workload::random_routing(groups_[0].self(), {1, tokens, o_.experts, o_.top_k});
  if (!routing) return fail(routing.error());
  Rounds rounds;
  for (int i = -2; i < o_.iterations; ++i) {  // two to warm up
    for (std::size_t n = 0; n < kPackings.size(); ++n) {
      const std::size_t p = (n + static_cast<std::size_t>(i + 2)) % kPackings.size();
      const auto took = round(groups_[p][0], *routing);
      if (!took) return fail(took.error());
      if (i >= 0) rounds[p].push_back(*took);
    }
  }
  if (groups_[0].self().value == 0) show(tokens, rounds);
  return {};
}

Status Rank::run() {
  if (groups_[0].self().value == 0) {
    const auto here = report::environment_now(1);
    fmt::print("# {} nodes of one rank, {} cores, {}, load {:.2f}; {} rounds, medians\n",
               topology_.nodes(), here.cores, here.kernel, here.load_average.front(),
               o_.iterations);
    fmt::print("# {:>9} {:>11} {:>11} {:>11} {:>10} {:>8}  {}\n", "MiB/rank", "prepacked",
               "sequential", "pipelined", "reduction", "hidden", "95 %");
    fmt::print("# {:>9} {:>11} {:>11} {:>11}\n", "", "(ms)", "(ms)", "(ms)");
  }
  for (const double mib : o_.mib) RAILWAVE_TRY(measure(mib));
  return {};
}

Result<int> run(const Options& options) {
  const auto spec = cli::cluster_of_this_rank(
      "railwave emulate --nodes 4 --ranks-per-node 1 --rails 1 --rate 16gbit --burst 8mb "
      "--buffer 64mb -- packing");
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
  CLI::App app("Packing before a phase, before a wave, or while others are on their way");
  railwave::bench::Options options;
  app.add_option("--mib", options.mib, "MiB of a rank's own rows, separated by commas")
      ->delimiter(',')
      ->capture_default_str();
  app.add_option("--hidden", options.hidden, "elements of a row, bf16")->capture_default_str();
  app.add_option("--experts", options.experts, "experts")->capture_default_str();
  app.add_option("--top-k", options.top_k, "experts of a token")->capture_default_str();
  app.add_option("-n,--iterations", options.iterations, "rounds of each")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const auto status = railwave::bench::run(options);
  if (status) return *status;
  fmt::print(stderr, "packing: {}\n", to_string(status.error()));
  return 1;
}
