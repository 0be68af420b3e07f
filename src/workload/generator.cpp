#include "workload/generator.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "workload/bins.hpp"
#include "workload/integer_rng.hpp"

namespace railwave::workload {
namespace {

/// Shares of a layer's volume, in parts of 100,000, of the experts sorted descending and cut into
/// 32 equal groups: the smooth decreasing density m(-ln u) + (1 - m) + a(u - 1/2) + b(u^2 - u +
/// 1/6) whose integrals over the four quarters are the paper's shares (m = 1.1178, a = 0.8227, b =
/// -1.2181).
constexpr std::array<std::int64_t, 32> kProfile{
    13410, 8759, 7116, 6106, 5393, 4852, 4421, 4068, 3770, 3513, 3288, 3088, 2907, 2740, 2586, 2440,
    2302,  2170, 2041, 1915, 1791, 1668, 1544, 1421, 1296, 1170, 1041, 911,  777,  640,  500,  356};
constexpr std::int64_t kMean = 100'000;
/// Largest change of a layer's skew, in thousandths: beyond 120 the coldest weights turn negative.
constexpr std::uint64_t kTilt = 100;
/// Largest change of an expert's weight, in parts of 1,024.
constexpr std::uint64_t kJitter = 48;

Status check(const GeneratorOptions& o) {
  const auto refuse = [](const char* field, std::int64_t value, const std::string& expected) {
    return fail(ErrorCode::InvalidArgument, field,
                fmt::format("{} is {}, expected {}", field, value, expected));
  };
  if (o.layers < 1) return refuse("layers", o.layers, "at least 1");
  if (o.experts < 1 || o.experts > Trace::kMaxExperts) {
    return refuse("experts", o.experts, fmt::format("1 to {}", int{Trace::kMaxExperts}));
  }
  if (o.top_k < 1 || o.top_k > o.experts) {
    return refuse("top_k", o.top_k, fmt::format("1 to the {} experts", o.experts));
  }
  const auto ids = checked_mul(std::int64_t{o.layers} * o.top_k, o.tokens);
  const auto counts = std::int64_t{o.layers} * o.experts;
  if (o.tokens < 0 || !ids || std::max(*ids, counts) > std::int64_t{1} << 31) {
    return refuse("tokens", o.tokens, "at least 0 and no more than 2^31 entries in all");
  }
  return {};
}

/// The profile's integral up to expert `rank` of E, times E.
std::int64_t profile_until(std::int64_t rank, std::int64_t experts) {
  const auto groups = std::ssize(kProfile);
  const auto whole = kProfile.begin() + rank * groups / experts;
  const std::int64_t part = rank * groups % experts;
  return std::accumulate(kProfile.begin(), whole, std::int64_t{0}) * experts +
         (part > 0 ? *whole * part : 0);
}

/// [E] weights, hottest first, of mean kMean.
std::vector<std::int64_t> profile(int experts) {
  std::vector<std::int64_t> weights;
  for (int rank = 0; rank < experts; ++rank) {
    weights.push_back(profile_until(rank + 1, experts) - profile_until(rank, experts));
  }
  return weights;
}

/// Every second layer gets the opposite tilt of the layer before: the sum over layers, and with it
/// the fit, stays as it is.
std::int64_t tilt_of(const GeneratorOptions& options, int layer) {
  if (layer % 2 == 0 && layer + 1 == options.layers) return 0;
  IntegerRng rng(options.seed ^ mix64(static_cast<std::uint64_t>(layer / 2) + kGolden));
  const auto tilt = static_cast<std::int64_t>(rng.below(2 * kTilt + 1)) - std::int64_t{kTilt};
  return layer % 2 == 0 ? tilt : -tilt;
}

/// A count never exceeds the tokens, since a token chooses an expert once: what is too much goes
/// on to the next colder one.
void cap(std::vector<std::int64_t>& counts, std::int64_t tokens) {
  std::int64_t carried = 0;
  for (std::int64_t& count : counts) {
    count += carried;
    carried = std::max<std::int64_t>(0, count - tokens);
    count -= carried;
  }
  RAILWAVE_CHECK(carried == 0);
}

template <class T>
void shuffle(std::span<T> values, IntegerRng& rng) {
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[rng.below(i)]);
}

/// [E] counts of one layer by expert index.
std::vector<std::int64_t> layer_counts(const GeneratorOptions& options, int layer,
                                       IntegerRng& rng) {
  auto weights = profile(options.experts);
  const std::int64_t tilt = tilt_of(options, layer);
  for (std::int64_t& weight : weights) {
    weight = 1000 * kMean + (1000 + tilt) * (weight - kMean);
    weight = weight / 1024 * static_cast<std::int64_t>(1024 - kJitter + rng.below(2 * kJitter + 1));
  }
  std::ranges::sort(weights, std::greater<>{});
  auto counts = apportion(options.tokens * options.top_k, weights);
  std::ranges::sort(counts, std::greater<>{});
  cap(counts, options.tokens);
  shuffle(std::span(counts), rng);
  return counts;
}

IntegerRng layer_rng(const GeneratorOptions& options, int layer) {
  return IntegerRng(mix64(options.seed + kGolden) ^ static_cast<std::uint64_t>(layer));
}

/// Deals the counts to [T, K] slots column by column: an expert's at most T consecutive slots are
/// in different tokens.
void deal(std::span<const std::int64_t> counts, int top_k, std::span<std::uint16_t> ids) {
  const std::size_t tokens = ids.size() / static_cast<std::size_t>(top_k);
  std::size_t position = 0;
  for (std::size_t expert = 0; expert < counts.size(); ++expert) {
    for (std::int64_t i = 0; i < counts[expert]; ++i, ++position) {
      const std::size_t slot =
          position % tokens * static_cast<std::size_t>(top_k) + position / tokens;
      ids[slot] = static_cast<std::uint16_t>(expert);
    }
  }
}

/// Random exchanges between tokens that leave every count, and every token's experts different.
void mix(int top_k, std::span<std::uint16_t> ids, IntegerRng& rng) {
  const auto k = static_cast<std::size_t>(top_k);
  const auto holds = [&](std::size_t slot, std::uint16_t expert) {
    const auto token = ids.subspan(slot / k * k, k);
    return std::ranges::find(token, expert) != token.end();
  };
  for (std::size_t round = 0; round < 4 * ids.size(); ++round) {
    const std::size_t a = rng.below(ids.size());
    const std::size_t b = rng.below(ids.size());
    if (!holds(a, ids[b]) && !holds(b, ids[a])) std::swap(ids[a], ids[b]);
  }
}

}  // namespace

Result<Trace> generate_counts(const GeneratorOptions& options) {
  RAILWAVE_TRY(check(options));
  std::vector<std::int64_t> all;
  for (int layer = 0; layer < options.layers; ++layer) {
    IntegerRng rng = layer_rng(options, layer);
    const auto counts = layer_counts(options, layer, rng);
    all.insert(all.end(), counts.begin(), counts.end());
  }
  return Trace::from_counts({options.layers, 1, options.experts}, std::move(all));
}

Result<Trace> generate_ids(const GeneratorOptions& options) {
  RAILWAVE_TRY(check(options));
  const auto size = static_cast<std::size_t>(options.tokens * options.top_k);
  std::vector<std::uint16_t> ids(size * static_cast<std::size_t>(options.layers));
  for (int layer = 0; layer < options.layers && size > 0; ++layer) {
    IntegerRng rng = layer_rng(options, layer);
    const auto counts = layer_counts(options, layer, rng);
    const auto slots = std::span(ids).subspan(static_cast<std::size_t>(layer) * size, size);
    deal(counts, options.top_k, slots);
    mix(options.top_k, slots, rng);
  }
  return Trace::from_ids({options.layers, options.tokens, options.top_k, options.experts},
                         std::move(ids));
}

}  // namespace railwave::workload
