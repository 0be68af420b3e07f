// The sums of combine, to the bit (DESIGN 4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include <railwave/dtype.hpp>

#include "base/memory.hpp"
#include "base/row_format.hpp"

namespace railwave::exec {

/// One running fp32 sum over rows of `hidden` elements, rounded once at the end. Adding several
/// rows at once gives the same bits as one after the other and is faster. Threads: belongs to one
/// thread; the scratch is reused.
class RowSum {
 public:
  /// DType: BF16, FP16 or FP32.
  RowSum(DType dtype, std::int64_t hidden, Memory* memory = std::pmr::get_default_resource());
  /// Starts from +0.
  void reset();
  /// Starts from fp32(row), its sign of zero included.
  void start(const std::byte* row);
  /// sum += fp32(row), element by element.
  void add(const std::byte* row);
  /// The same for every row, in this order.
  void add(std::span<const std::byte* const> rows);
  /// sum += fp32(weight * fp32(row)): rounded before it is added (expert-major, DESIGN section 4).
  void add_scaled(const std::byte* row, float weight);
  /// The same for every row, in this order. Shapes: rows [n], weights [n].
  void add_scaled(std::span<const std::byte* const> rows, std::span<const float> weights);
  /// Rounds to the row's dtype, nearest even; NaN becomes the quiet NaN.
  void store(std::byte* row) const;
  /// Stores what a sum from +0 over this stored row alone would be: -0 becomes +0.
  void store_alone(std::byte* row) const;
  /// sum += fp32(round(other)): adds another sum as if it had been stored and loaded.
  void add_rounded(const RowSum& other);

 private:
  /// What the sum holds, for an addition that follows.
  SumStart begin();

  const RowFormat& format_;
  std::size_t row_bytes_;
  std::size_t hidden_;
  std::pmr::vector<float> sum_;
  bool empty_ = true;  // sum_ holds nothing yet: it is +0
};

}  // namespace railwave::exec
