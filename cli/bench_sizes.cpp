#include "bench_sizes.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "base/fail.hpp"
#include "report/quantiles.hpp"
#include "workload/replay_rows.hpp"

namespace railwave::cli {
namespace {

constexpr std::array kParts{&report::Breakdown::header_s, &report::Breakdown::plan_s,
                            &report::Breakdown::pack_s,   &report::Breakdown::relocate_s,
                            &report::Breakdown::wire_s,   &report::Breakdown::reorder_s};

report::Breakdown parts_of(const PhaseReport& r) {
  return {r.header_s, r.plan_s, r.pack_s, r.relocate_s, r.wire_s, r.reorder_s};
}

/// Collects the rounds of one size.
class SizeRounds {
 public:
  explicit SizeRounds(Timed timed) : timed_(timed) {}

  /// One round of all ranks.
  void add(const std::vector<const RankSample*>& ranks) {
    double dispatch_s = 0;
    double combine_s = 0;
    report::Breakdown slowest;
    std::int64_t wire = 0;
    std::vector<std::uint64_t> hashes;
    for (const RankSample* rank : ranks) {
      dispatch_s = std::max(dispatch_s, rank->dispatch_s);
      combine_s = std::max(combine_s, rank->combine_s);
      out_.wrong += rank->wrong;
      hashes.push_back(rank->bits);
      add_phases(*rank, slowest, wire);
    }
    bits_.push_back(workload::hash_of_hashes(hashes));
    if (ranks.front()->repeat < 0) return;
    out_.wire_bytes = wire / static_cast<std::int64_t>(ranks.size());
    out_.samples.push_back((timed_.dispatch ? dispatch_s : 0) + (timed_.combine ? combine_s : 0));
    rounds_.push_back(slowest);
  }

  [[nodiscard]] const std::vector<std::uint64_t>& bits() const { return bits_; }

  report::BenchSize finish() {
    report::Breakdown medians;
    for (const auto part : kParts) {
      std::vector<double> values;
      for (const report::Breakdown& round : rounds_) values.push_back(round.*part);
      medians.*part = report::nearest_rank(values, 50).value_or(0);
    }
    out_.breakdown = medians;
    return std::move(out_);
  }

 private:
  void add_phases(const RankSample& rank, report::Breakdown& slowest, std::int64_t& wire) const {
    report::Breakdown own;
    for (const auto& [counts, phase] :
         {std::pair{timed_.dispatch, &rank.dispatch}, std::pair{timed_.combine, &rank.combine}}) {
      if (!counts) continue;
      const report::Breakdown parts = parts_of(*phase);
      for (const auto part : kParts) own.*part += parts.*part;
      wire = std::accumulate(phase->sent_bytes.begin(), phase->sent_bytes.end(), wire);
    }
    for (const auto part : kParts) slowest.*part = std::max(slowest.*part, own.*part);
  }

  Timed timed_;
  report::BenchSize out_;
  std::vector<std::uint64_t> bits_;
  std::vector<report::Breakdown> rounds_;
};

}  // namespace

Result<report::BenchPath> bench_path(Path path, const BenchRequest& request,
                                     const ReplayWorkload& work,
                                     const std::vector<std::vector<RankSample>>& by_rank,
                                     bool check) {
  report::BenchPath out{std::string(to_string(path)), {}};
  const int phases = int{request.timed.dispatch} + int{request.timed.combine};
  for (std::size_t layer = 0; layer < work.layers.size(); ++layer) {
    SizeRounds rounds(request.timed);
    for (std::size_t i = 0; i < by_rank.front().size(); ++i) {
      const RankSample& first = by_rank.front()[i];
      if (first.path != path || first.layer != static_cast<int>(layer)) continue;
      std::vector<const RankSample*> ranks;
      for (const auto& samples : by_rank) ranks.push_back(&samples[i]);
      rounds.add(ranks);
    }
    const std::vector<std::uint64_t> bits = rounds.bits();
    report::BenchSize size = rounds.finish();
    size.tokens = work.layers[layer].routing.front().tokens;
    size.size_bytes = size.tokens * request.row_bytes;
    size.logical_bytes = phases * work.layers[layer].row_copies * request.row_bytes /
                         static_cast<std::int64_t>(by_rank.size());
    if (check && request.timed.combine && !bits.empty()) {
      if (std::ranges::adjacent_find(bits, std::ranges::not_equal_to{}) != bits.end()) {
        return fail(ErrorCode::IntegrityError, "bits",
                    fmt::format("two rounds of {} with {} tokens gave different bits", out.name,
                                size.tokens));
      }
      size.bits = report::format_bits(bits.front());
    }
    out.sizes.push_back(std::move(size));
  }
  return out;
}

}  // namespace railwave::cli
