// Loops over the elements of rows: conversions to and from fp32, and running sums. Vectorised;
// every instruction set gives the same bits, those of base/number_format.hpp and of single IEEE
// operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <railwave/dtype.hpp>

namespace railwave {

enum class InstructionSet : std::uint8_t { Baseline, Avx2 };

/// Avx2 if this CPU has it and F16C, as all such CPUs do; else what the library was compiled for.
InstructionSet best_instruction_set();

/// Rows to add: fp32(rows[r][i]), or fp32(weights[r] * fp32(rows[r][i])) if there are weights.
/// Shapes: rows [at least one], weights [rows] or null.
struct Addends {
  std::span<const std::byte* const> rows;
  const float* weights = nullptr;
};

/// What a running sum holds before an addition: +0 whatever its memory contains, or itself.
enum class SumStart : std::uint8_t { Zero, Sum };

/// The loops for rows of one dtype. A row is n elements at any address; nothing but the n elements
/// is read or written. Inputs and outputs do not overlap. Threads: pure functions of their
/// arguments.
struct RowFormat {
  /// out[i] = fp32(row[i]), exact.
  void (*widen)(const std::byte* row, float* out, std::size_t n);
  /// row[i] = in[i] rounded to nearest, ties to even; NaNs are canonical.
  void (*narrow)(const float* in, std::byte* row, std::size_t n);
  /// sum[i] = ((start + addend 0) + addend 1) + ..., each operation rounded to fp32. Null for fp8,
  /// which is never summed (DESIGN section 4).
  void (*add)(const Addends& addends, float* sum, std::size_t n, SumStart start);
  /// sum[i] = start + fp32(in[i] as narrow stores it). Null for fp8.
  void (*add_rounded)(const float* in, float* sum, std::size_t n, SumStart start);
};

/// The loops for `dtype`. REQUIRES: this CPU has the instructions.
const RowFormat& row_format(DType dtype, InstructionSet instructions = best_instruction_set());

}  // namespace railwave
