#include "workload/random_routing.hpp"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "workload/integer_rng.hpp"

namespace railwave::workload {
namespace {

Status check(const RandomRoutingOptions& o) {
  const auto refuse = [](const char* field, std::int64_t value, const std::string& expected) {
    return fail(ErrorCode::InvalidArgument, field,
                fmt::format("{} is {}, expected {}", field, value, expected));
  };
  if (o.experts < 1) return refuse("experts", o.experts, "at least 1");
  if (o.top_k < 1 || o.top_k > o.experts) {
    return refuse("top_k", o.top_k, fmt::format("1 to the {} experts", o.experts));
  }
  if (o.tokens < 0 || !checked_mul(o.tokens, o.top_k)) {
    return refuse("tokens", o.tokens, "at least 0");
  }
  return {};
}

}  // namespace

Result<RankRouting> random_routing(RankId self, const RandomRoutingOptions& options) {
  RAILWAVE_TRY(check(options));
  IntegerRng rng(mix64(options.seed + kGolden) ^ mix64(static_cast<std::uint64_t>(self.value)));
  RankRouting out;
  out.tokens = options.tokens;
  out.top_k = options.top_k;
  out.topk_idx.reserve(static_cast<std::size_t>(options.tokens * options.top_k));
  std::vector<std::int64_t> deck(static_cast<std::size_t>(options.experts));
  std::iota(deck.begin(), deck.end(), std::int64_t{0});
  for (std::int64_t t = 0; t < options.tokens; ++t) {
    // The first steps of a shuffle; whatever order the deck has been left in serves as well.
    for (int k = 0; k < options.top_k; ++k) {
      const auto left = static_cast<std::uint64_t>(options.experts - k);
      const auto drawn = static_cast<std::size_t>(k) + static_cast<std::size_t>(rng.below(left));
      std::swap(deck[static_cast<std::size_t>(k)], deck[drawn]);
      out.topk_idx.push_back(deck[static_cast<std::size_t>(k)]);
    }
  }
  return out;
}

}  // namespace railwave::workload
