// Row contents that say where they come from, so that every row of every sample can be verified.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <railwave/dtype.hpp>
#include <railwave/error.hpp>
#include <railwave/ids.hpp>

namespace railwave::workload {

/// The token that a row carries.
struct RowIdentity {
  RankId source;
  std::int64_t token = 0;
  friend bool operator==(const RowIdentity&, const RowIdentity&) = default;
};

/// The contents of all rows of one sample, as a function of (seed, source rank, token, column) and,
/// for expert outputs, of the expert too. Elements are normal finite numbers, exactly
/// representable in the element type, from an integer hash: equal on every machine. Their
/// magnitudes go from 2^-8 to below 2^8, but one in eight is exactly 2^30, so that sums of a few
/// rows cancel and show the order in which they were taken. Rows of different identity differ in
/// most columns. Threads: an immutable value; may be shared.
class ReplayRows {
 public:
  /// Errors: Unsupported{dtype} unless BF16 or FP32; InvalidArgument{hidden} when hidden < 1.
  static Result<ReplayRows> create(std::uint64_t seed, DType dtype, std::int64_t hidden);

  /// Bytes of one row, without gaps between rows.
  [[nodiscard]] std::int64_t row_bytes() const { return hidden_ * element_bytes(dtype_); }

  /// The bits of one element of a token row. REQUIRES: 0 <= column < hidden.
  [[nodiscard]] std::uint32_t element(RowIdentity row, std::int64_t column) const;
  /// The bits of one element of what `expert` returns for the token.
  [[nodiscard]] std::uint32_t expert_element(ExpertId expert, RowIdentity row,
                                             std::int64_t column) const;

  /// Fills whole rows: tokens first_token, first_token + 1, ... of `source`.
  /// REQUIRES: out.size() is a multiple of row_bytes().
  void fill_rows(RankId source, std::int64_t first_token, std::span<std::byte> out) const;
  /// Fills one row with what `expert` returns for the token. REQUIRES: out.size() == row_bytes().
  void fill_expert_row(ExpertId expert, RowIdentity row, std::span<std::byte> out) const;

  /// How many of the received rows are not, to the bit, the rows of `identity`, row by row.
  /// REQUIRES: received.size() == identity.size() * row_bytes().
  [[nodiscard]] std::int64_t count_wrong_rows(std::span<const std::byte> received,
                                              std::span<const RowIdentity> identity) const;

 private:
  ReplayRows(std::uint64_t seed, DType dtype, std::int64_t hidden)
      : seed_(seed), dtype_(dtype), hidden_(hidden) {}
  void fill(std::uint64_t key, std::span<std::byte> row) const;

  std::uint64_t seed_;
  DType dtype_;
  std::int64_t hidden_;
};

/// A 64-bit hash (XXH3) of the bytes in their order; the `bits` of a result.
std::uint64_t hash_rows(std::span<const std::byte> rows);
/// One hash of several in their order: of ranks ascending, of layers ascending. Equal on every
/// machine.
std::uint64_t hash_of_hashes(std::span<const std::uint64_t> hashes);

}  // namespace railwave::workload
