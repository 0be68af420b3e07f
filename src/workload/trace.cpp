#include "workload/trace.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/checked.hpp"
#include "base/fail.hpp"

namespace railwave::workload {
namespace {

Status at_least(std::int64_t value, std::int64_t least, const char* field) {
  if (value >= least) return {};
  return fail(ErrorCode::InvalidArgument, field,
              fmt::format("{} is {}, expected at least {}", field, value, least));
}

Status check_experts(int experts) {
  if (experts >= 1 && experts <= Trace::kMaxExperts) return {};
  return fail(ErrorCode::InvalidArgument, "experts",
              fmt::format("experts is {}, expected 1 to {}", experts,
                          static_cast<int>(Trace::kMaxExperts)));
}

/// a * b * c == size, without overflow.
Status check_extent(std::int64_t a, std::int64_t b, std::int64_t c, std::size_t size) {
  const auto ab = checked_mul(a, b);
  const auto abc = ab ? checked_mul(*ab, c) : std::nullopt;
  if (abc && std::cmp_equal(*abc, size)) return {};
  return fail(ErrorCode::InvalidArgument, "shape",
              fmt::format("shape [{}, {}, {}] does not hold {} entries", a, b, c, size));
}

int largest_id(std::span<const std::uint16_t> ids) {
  int largest = -1;
  for (const std::uint16_t id : ids) {
    if (id != Trace::kNoExpert) largest = std::max(largest, static_cast<int>(id));
  }
  return largest;
}

Status check_ids(const Trace::IdShape& shape, std::span<const std::uint16_t> ids) {
  const auto bad = std::ranges::find_if(
      ids, [&](std::uint16_t id) { return id != Trace::kNoExpert && id >= shape.experts; });
  if (bad == ids.end()) return {};
  const auto offset = bad - ids.begin();
  const auto row = offset / shape.top_k;
  return fail(ErrorCode::InvalidArgument, "expert_id",
              fmt::format("layer {}, token {}, slot {}: expert id {} is not below the {} experts",
                          row / shape.tokens, row % shape.tokens, offset % shape.top_k, *bad,
                          shape.experts));
}

Status check_counts(const Trace::CountShape& shape, std::span<const std::int64_t> counts) {
  std::int64_t sum = 0;
  const auto per_layer =
      static_cast<std::size_t>(shape.sources) * static_cast<std::size_t>(shape.experts);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (i % per_layer == 0) sum = 0;
    const auto total = counts[i] >= 0 ? checked_add(sum, counts[i]) : std::nullopt;
    if (!total) {
      const auto experts = static_cast<std::size_t>(shape.experts);
      return fail(ErrorCode::InvalidArgument, "counts",
                  fmt::format("layer {}, source {}, expert {}: count {} is negative or takes the "
                              "layer's sum beyond 64 bits",
                              i / per_layer, i % per_layer / experts, i % experts, counts[i]));
    }
    sum = *total;
  }
  return {};
}

}  // namespace

Result<Trace> Trace::from_ids(const IdShape& shape, std::vector<std::uint16_t> ids) {
  IdShape known = shape;
  if (known.experts == 0) known.experts = std::max(largest_id(ids) + 1, known.top_k);
  RAILWAVE_TRY(at_least(known.layers, 1, "layers"));
  RAILWAVE_TRY(at_least(known.tokens, 0, "tokens"));
  RAILWAVE_TRY(at_least(known.top_k, 1, "top_k"));
  RAILWAVE_TRY(check_experts(known.experts));
  if (known.top_k > known.experts) {
    return fail(ErrorCode::InvalidArgument, "top_k",
                fmt::format("top_k {} is above the {} experts", known.top_k, known.experts));
  }
  RAILWAVE_TRY(check_extent(known.layers, known.tokens, known.top_k, ids.size()));
  RAILWAVE_TRY(check_ids(known, ids));
  Trace trace;
  trace.layers_ = known.layers;
  trace.experts_ = known.experts;
  trace.tokens_ = known.tokens;
  trace.top_k_ = known.top_k;
  trace.ids_ = std::move(ids);
  return trace;
}

Result<Trace> Trace::from_counts(const CountShape& shape, std::vector<std::int64_t> counts) {
  RAILWAVE_TRY(at_least(shape.layers, 1, "layers"));
  RAILWAVE_TRY(at_least(shape.sources, 1, "sources"));
  RAILWAVE_TRY(check_experts(shape.experts));
  RAILWAVE_TRY(check_extent(shape.layers, shape.sources, shape.experts, counts.size()));
  RAILWAVE_TRY(check_counts(shape, counts));
  Trace trace;
  trace.layers_ = shape.layers;
  trace.experts_ = shape.experts;
  trace.sources_ = shape.sources;
  trace.counts_ = std::move(counts);
  return trace;
}

std::int64_t Trace::id(int layer, std::int64_t token, int slot) const {
  RAILWAVE_CHECK(has_ids());
  const std::int64_t row = std::int64_t{layer} * tokens_ + token;
  const std::uint16_t held = ids_[static_cast<std::size_t>(row * top_k_ + slot)];
  return held == kNoExpert ? -1 : held;
}

std::vector<std::int64_t> Trace::expert_counts(int layer) const {
  const auto by_source = source_counts(layer);
  std::vector<std::int64_t> sum(static_cast<std::size_t>(experts_), 0);
  for (std::size_t i = 0; i < by_source.size(); ++i) sum[i % sum.size()] += by_source[i];
  return sum;
}

std::vector<std::int64_t> Trace::source_counts(int layer) const {
  RAILWAVE_CHECK(layer >= 0 && layer < layers_, "layer %d of %d", layer, layers_);
  const auto index = static_cast<std::size_t>(layer);
  if (!has_ids()) {
    const auto size = counts_.size() / static_cast<std::size_t>(layers_);
    const auto first = counts_.begin() + static_cast<std::ptrdiff_t>(index * size);
    return {first, first + static_cast<std::ptrdiff_t>(size)};
  }
  std::vector<std::int64_t> counts(static_cast<std::size_t>(experts_), 0);
  const auto size = ids_.size() / static_cast<std::size_t>(layers_);
  for (const std::uint16_t held : std::span(ids_).subspan(index * size, size)) {
    if (held != kNoExpert) ++counts[held];
  }
  return counts;
}

}  // namespace railwave::workload
