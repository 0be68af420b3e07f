// A token row as it travels: its elements, then its scales.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <railwave/dtype.hpp>

namespace railwave::exec {

/// Bytes of a row's two parts. Scales come with FP8E4M3 only and travel with their row.
struct RowShape {
  std::int64_t element_bytes = 0;
  std::int64_t scale_bytes = 0;

  static constexpr RowShape of(DType dtype, std::int64_t hidden) {
    return {hidden * railwave::element_bytes(dtype), 4 * scales_per_row(dtype, hidden)};
  }
  [[nodiscard]] constexpr std::int64_t bytes() const { return element_bytes + scale_bytes; }
};

/// Where the parts of one row lie; `scales` counts only where the shape has some.
struct RowView {
  const std::byte* elements = nullptr;
  const std::byte* scales = nullptr;

  /// A row whose parts lie one after the other.
  static RowView packed(const std::byte* row, const RowShape& shape) {
    return {row, row + shape.element_bytes};
  }
  /// Writes the parts one after the other.
  void pack(const RowShape& shape, std::byte* out) const {
    std::memcpy(out, elements, static_cast<std::size_t>(shape.element_bytes));
    if (shape.scale_bytes == 0) return;
    std::memcpy(out + shape.element_bytes, scales, static_cast<std::size_t>(shape.scale_bytes));
  }
};

}  // namespace railwave::exec
