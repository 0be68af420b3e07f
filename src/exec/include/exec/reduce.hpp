// The sums of combine, to the bit (DESIGN 4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include <railwave/dtype.hpp>

namespace railwave::exec {

/// One running fp32 sum over rows of `hidden` elements, rounded once at the end.
/// Threads: belongs to one thread; the scratch is reused.
class RowSum {
 public:
  /// DType: BF16 or FP32.
  RowSum(DType dtype, std::int64_t hidden);
  /// Starts from +0.
  void reset();
  /// Starts from fp32(row), its sign of zero included.
  void start(const std::byte* row);
  /// sum += fp32(row), element by element.
  void add(const std::byte* row);
  /// Rounds to the row's dtype, nearest even; NaN becomes the quiet NaN.
  void store(std::byte* row) const;
  /// sum += fp32(round(other)): adds another sum as if it had been stored and loaded.
  void add_rounded(const RowSum& other);

 private:
  /// The sum so far plus addend(h), element by element.
  template <class Addend>
  void add_each(Addend addend);

  DType dtype_;
  std::size_t hidden_;
  std::unique_ptr<float[]> sum_;
  bool empty_ = true;  // sum_ holds nothing yet: it is +0
};

}  // namespace railwave::exec
