#include "plan/birkhoff.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include "base/checked.hpp"
#include "first_matching.hpp"

namespace railwave::plan {
namespace {

using Matrix = std::vector<std::int64_t>;  // [N, N]

Matrix demand_of(const RailCounts& counts) {
  Matrix demand;
  for (NodeId s(0); s.value < counts.nodes(); ++s.value) {
    for (NodeId d(0); d.value < counts.nodes(); ++d.value) demand.push_back(counts.slice(s, d));
  }
  return demand;
}

/// What each row and each column lacks to the largest of their sums.
struct Lack {
  std::vector<std::int64_t> row;
  std::vector<std::int64_t> column;
};

Lack lack_of(const Matrix& demand, std::size_t n) {
  Lack lack{std::vector<std::int64_t>(n, 0), std::vector<std::int64_t>(n, 0)};
  for (std::size_t i = 0; i < demand.size(); ++i) {
    lack.row[i / n] += demand[i];
    lack.column[i % n] += demand[i];
  }
  const std::int64_t largest = std::max(*std::max_element(lack.row.begin(), lack.row.end()),
                                        *std::max_element(lack.column.begin(), lack.column.end()));
  for (auto* sums : {&lack.row, &lack.column}) {
    for (std::int64_t& sum : *sums) sum = largest - sum;
  }
  return lack;
}

/// Row by row, into the first columns that lack something.
Matrix padded(Matrix demand, std::size_t n) {
  Lack lack = lack_of(demand, n);
  std::size_t column = 0;
  for (std::size_t row = 0; row < n; ++row) {
    while (lack.row[row] > 0) {
      while (lack.column[column] == 0) ++column;
      const std::int64_t add = std::min(lack.row[row], lack.column[column]);
      demand[row * n + column] += add;
      lack.row[row] -= add;
      lack.column[column] -= add;
    }
  }
  return demand;
}

struct Step {
  std::int64_t length = 0;
  Matching matching;
};

std::vector<Step> decomposed(Matrix left, std::size_t n) {
  std::vector<Step> steps;
  FirstMatching matcher(left, n);
  std::int64_t rest =
      std::accumulate(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(n), std::int64_t{0});
  while (rest > 0) {
    Step step{rest, matcher.next()};
    for (std::size_t row = 0; row < n; ++row) {
      step.length = std::min(step.length, left[row * n + step.matching[row]]);
    }
    for (std::size_t row = 0; row < n; ++row) {
      std::int64_t& entry = left[row * n + step.matching[row]];
      entry -= step.length;
      if (entry == 0) matcher.use_up(row, step.matching[row]);
    }
    rest -= step.length;
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace

std::vector<Stage> birkhoff_stages(const RailCounts& counts) {
  const auto n = static_cast<std::size_t>(counts.nodes());
  Matrix demand = demand_of(counts);
  auto steps = decomposed(padded(demand, n), n);
  std::stable_sort(steps.begin(), steps.end(),
                   [](const Step& a, const Step& b) { return a.length > b.length; });
  std::vector<Stage> stages;
  for (const Step& step : steps) {
    Stage stage{step.length, {}};
    for (std::size_t row = 0; row < n; ++row) {
      std::int64_t& left = demand[row * n + step.matching[row]];
      const std::int64_t records = std::min(left, step.length);
      left -= records;
      if (records > 0) stage.parts.push_back({{NodeId(row), NodeId(step.matching[row])}, records});
    }
    if (!stage.parts.empty()) stages.push_back(std::move(stage));
  }
  return stages;
}

namespace {

/// Cuts one stage's share off the loads [R].
class Cutter {
 public:
  explicit Cutter(std::vector<std::int64_t> loads)
      : loads_(std::move(loads)),
        fraction_(loads_.size()),
        total_(std::accumulate(loads_.begin(), loads_.end(), std::int64_t{0})) {}

  void cut(std::int64_t amount, std::span<std::int64_t> share) {
    RAILWAVE_CHECK(0 < amount && amount <= total_, "%lld records of %lld",
                   static_cast<long long>(amount), static_cast<long long>(total_));
    std::int64_t left = amount - give_floors(amount, share);
    for (; left > 0; --left) {
      const auto next = std::max_element(fraction_.begin(), fraction_.end());
      ++share[static_cast<std::size_t>(next - fraction_.begin())];
      *next = 0;
    }
    for (std::size_t r = 0; r < loads_.size(); ++r) loads_[r] -= share[r];
    total_ -= amount;
  }

 private:
  /// Returns what it gave; what is lost by rounding, in units of 1/total, is in fraction_.
  std::int64_t give_floors(std::int64_t amount, std::span<std::int64_t> share) {
    std::int64_t given = 0;
    for (std::size_t r = 0; r < loads_.size(); ++r) {
      const __int128 product = static_cast<__int128>(amount) * loads_[r];
      share[r] = static_cast<std::int64_t>(product / total_);
      fraction_[r] = static_cast<std::int64_t>(product % total_);
      given += share[r];
    }
    return given;
  }

  std::vector<std::int64_t> loads_;     // [R] what is left
  std::vector<std::int64_t> fraction_;  // [R]
  std::int64_t total_;
};

}  // namespace

std::vector<std::int64_t> split_over_stages(std::vector<std::int64_t> loads,
                                            const std::vector<std::int64_t>& amounts) {
  const std::size_t rails = loads.size();
  std::vector<std::int64_t> split(amounts.size() * rails);
  Cutter cutter(std::move(loads));
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    cutter.cut(amounts[i], std::span(split).subspan(i * rails, rails));
  }
  return split;
}

}  // namespace railwave::plan
