#include "workload/replay_rows.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <xxhash.h>

#include "base/checked.hpp"
#include "base/fail.hpp"
#include "workload/integer_rng.hpp"

namespace railwave::workload {
namespace {

static_assert(std::endian::native == std::endian::little, "rows are stored little-endian");

constexpr std::uint64_t kTokenRows = 1;
constexpr std::uint64_t kExpertRows = 2;

std::uint64_t absorb(std::uint64_t key, std::int64_t value) {
  return mix64(key * kGolden + static_cast<std::uint64_t>(value) + 1);
}

std::uint64_t token_key(std::uint64_t seed, RowIdentity row) {
  return absorb(absorb(absorb(seed, kTokenRows), row.source.value), row.token);
}

std::uint64_t expert_key(std::uint64_t seed, ExpertId expert, RowIdentity row) {
  const auto key = absorb(absorb(seed, kExpertRows), expert.value);
  return absorb(absorb(key, row.source.value), row.token);
}

/// One element in eight is a power of two so large that fp32 forgets the others beside it: where
/// two of them cancel, a sum tells the order in which it was taken. The rest has sign and mantissa
/// from the hash and one of 16 exponents around that of 1; sums of a few hundred stay finite.
constexpr std::uint32_t kLargeExponent = 127 + 30;

std::uint32_t exponent(std::uint32_t four_bits, std::uint32_t choice) {
  return choice < 2 ? kLargeExponent : 119 + four_bits;
}

std::uint16_t bf16_bits(std::uint64_t hash) {
  const auto h = static_cast<std::uint32_t>(hash & 0xffff);
  const std::uint32_t e = exponent((h >> 7) & 0xf, (h >> 11) & 0xf);
  const std::uint32_t mantissa = e == kLargeExponent ? 0 : h & 0x7f;
  return static_cast<std::uint16_t>((h & 0x8000) | (e << 7) | mantissa);
}

std::uint32_t fp32_bits(std::uint64_t hash) {
  const auto h = static_cast<std::uint32_t>(hash);
  const std::uint32_t e = exponent((h >> 23) & 0xf, (h >> 27) & 0xf);
  const std::uint32_t mantissa = e == kLargeExponent ? 0 : h & 0x7fffffU;
  return (h & 0x80000000U) | (e << 23) | mantissa;
}

std::uint64_t word(std::uint64_t key, std::int64_t index) {
  return mix64(key + static_cast<std::uint64_t>(index) * kGolden);
}

std::uint32_t element_of(DType dtype, std::uint64_t key, std::int64_t column) {
  const std::int64_t lanes = 8 / element_bytes(dtype);
  const auto lane_bits = static_cast<int>(8 * element_bytes(dtype) * (column % lanes));
  const std::uint64_t hash = word(key, column / lanes) >> lane_bits;
  return dtype == DType::BF16 ? bf16_bits(hash) : fp32_bits(hash);
}

template <class Bits, Bits (*kBits)(std::uint64_t)>
void fill_lanes(std::uint64_t key, std::span<std::byte> row) {
  constexpr std::size_t kLanes = 8 / sizeof(Bits);
  for (std::size_t at = 0, index = 0; at < row.size(); ++index) {
    std::uint64_t hash = word(key, static_cast<std::int64_t>(index));
    Bits lanes[kLanes];
    for (Bits& lane : lanes) {
      lane = kBits(hash);
      hash >>= 8 * sizeof(Bits);
    }
    const std::size_t size = std::min(sizeof(lanes), row.size() - at);
    std::memcpy(row.data() + at, lanes, size);
    at += size;
  }
}

}  // namespace

Result<ReplayRows> ReplayRows::create(std::uint64_t seed, DType dtype, std::int64_t hidden) {
  if (dtype != DType::BF16 && dtype != DType::FP32) {
    return fail(ErrorCode::Unsupported, "dtype",
                fmt::format("replay rows are bf16 or fp32, not {}", to_string(dtype)));
  }
  if (hidden < 1 || !checked_mul(hidden, element_bytes(dtype))) {
    return fail(ErrorCode::InvalidArgument, "hidden",
                fmt::format("hidden is {}, expected at least 1", hidden));
  }
  return ReplayRows(seed, dtype, hidden);
}

std::uint32_t ReplayRows::element(RowIdentity row, std::int64_t column) const {
  return element_of(dtype_, token_key(seed_, row), column);
}

std::uint32_t ReplayRows::expert_element(ExpertId expert, RowIdentity row,
                                         std::int64_t column) const {
  return element_of(dtype_, expert_key(seed_, expert, row), column);
}

void ReplayRows::fill(std::uint64_t key, std::span<std::byte> row) const {
  if (dtype_ == DType::BF16) {
    fill_lanes<std::uint16_t, bf16_bits>(key, row);
  } else {
    fill_lanes<std::uint32_t, fp32_bits>(key, row);
  }
}

void ReplayRows::fill_rows(RankId source, std::int64_t first_token,
                           std::span<std::byte> out) const {
  const auto size = static_cast<std::size_t>(row_bytes());
  RAILWAVE_CHECK(out.size() % size == 0, "%zu bytes, rows of %zu", out.size(), size);
  for (std::int64_t token = first_token; !out.empty(); ++token) {
    fill(token_key(seed_, {source, token}), out.first(size));
    out = out.subspan(size);
  }
}

void ReplayRows::fill_expert_row(ExpertId expert, RowIdentity row, std::span<std::byte> out) const {
  RAILWAVE_CHECK(std::cmp_equal(out.size(), row_bytes()));
  fill(expert_key(seed_, expert, row), out);
}

std::int64_t ReplayRows::count_wrong_rows(std::span<const std::byte> received,
                                          std::span<const RowIdentity> identity) const {
  const auto size = static_cast<std::size_t>(row_bytes());
  RAILWAVE_CHECK(received.size() == identity.size() * size, "%zu bytes, %zu rows of %zu",
                 received.size(), identity.size(), size);
  std::vector<std::byte> expected(size);
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < identity.size(); ++i) {
    fill(token_key(seed_, identity[i]), expected);
    if (std::memcmp(expected.data(), received.data() + i * size, size) != 0) ++wrong;
  }
  return wrong;
}

std::uint64_t hash_rows(std::span<const std::byte> rows) {
  return XXH3_64bits(rows.data(), rows.size());
}

std::uint64_t hash_of_hashes(std::span<const std::uint64_t> hashes) {
  return hash_rows(std::as_bytes(hashes));
}

}  // namespace railwave::workload
