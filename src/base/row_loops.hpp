// The loops of row_format.cpp, to be inlined into functions that say for which instructions.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>

#include "base/number_format.hpp"
#include "base/row_format.hpp"

#define RAILWAVE_INLINE [[gnu::always_inline]] inline

namespace railwave::row_loops {

struct Bf16 {
  using Bits = std::uint16_t;
  RAILWAVE_INLINE static float widen(Bits bits) { return bf16_to_fp32(bits); }
  RAILWAVE_INLINE static Bits narrow(float value) { return fp32_to_bf16(value); }
};

struct Fp16 {
  using Bits = std::uint16_t;
  RAILWAVE_INLINE static float widen(Bits bits) { return fp16_to_fp32(bits); }
  RAILWAVE_INLINE static Bits narrow(float value) { return fp32_to_fp16(value); }
};

struct Fp8E4M3 {
  using Bits = std::uint8_t;
  RAILWAVE_INLINE static float widen(Bits bits) { return fp8_e4m3_to_fp32(bits); }
  RAILWAVE_INLINE static Bits narrow(float value) { return fp32_to_fp8_e4m3(value); }
};

struct Fp32 {
  using Bits = float;
  RAILWAVE_INLINE static float widen(Bits value) { return value; }
  RAILWAVE_INLINE static Bits narrow(float value) { return canonical_fp32(value); }
};

/// fp32(row[index]). Rows may lie at any address; memcpy costs nothing and vectorises.
template <class Format>
RAILWAVE_INLINE float element(const std::byte* row, std::size_t index) {
  typename Format::Bits bits;
  std::memcpy(&bits, row + index * sizeof(bits), sizeof(bits));
  return Format::widen(bits);
}

template <class Format>
RAILWAVE_INLINE void widen(const std::byte* row, float* __restrict out, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = element<Format>(row, i);
}

template <class Format>
RAILWAVE_INLINE void narrow(const float* in, std::byte* __restrict row, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const typename Format::Bits bits = Format::narrow(in[i]);
    std::memcpy(row + i * sizeof(bits), &bits, sizeof(bits));
  }
}

/// running + terms(0, i) + terms(1, i) + ..., from left to right.
template <class Terms>
RAILWAVE_INLINE float run(const Terms& terms, float running, std::size_t i) {
  for (std::size_t t = 0; t < Terms::kCount; ++t) running += terms(t, i);
  return running;
}

/// sum[i] stays in a register from the first term to the last.
template <class Terms>
RAILWAVE_INLINE void accumulate(const Terms& terms, float* __restrict sum, std::size_t n,
                                SumStart start) {
  if (start == SumStart::Zero) {
    for (std::size_t i = 0; i < n; ++i) sum[i] = run(terms, 0.0F, i);
  } else {
    for (std::size_t i = 0; i < n; ++i) sum[i] = run(terms, sum[i], i);
  }
}

/// kRows of the addends from row `first` on.
template <class Format, std::size_t kRows, bool kScaled>
struct Group {
  static constexpr std::size_t kCount = kRows;
  std::array<const std::byte*, kRows> rows;
  std::array<float, kScaled ? kRows : 0> weights;

  RAILWAVE_INLINE Group(const Addends& addends, std::size_t first) {
    for (std::size_t r = 0; r < kRows; ++r) rows[r] = addends.rows[first + r];
    for (std::size_t r = 0; r < weights.size(); ++r) weights[r] = addends.weights[first + r];
  }
  RAILWAVE_INLINE float operator()(std::size_t r, std::size_t i) const {
    const float value = element<Format>(rows[r], i);
    if constexpr (kScaled) {
      return weights[r] * value;
    } else {
      return value;
    }
  }
};

template <class Format, bool kScaled>
RAILWAVE_INLINE void add_groups(const Addends& addends, float* sum, std::size_t n, SumStart start) {
  const std::size_t rows = addends.rows.size();
  std::size_t r = 0;
  for (; r + 4 <= rows; r += 4, start = SumStart::Sum) {
    accumulate(Group<Format, 4, kScaled>(addends, r), sum, n, start);
  }
  for (; r + 2 <= rows; r += 2, start = SumStart::Sum) {
    accumulate(Group<Format, 2, kScaled>(addends, r), sum, n, start);
  }
  if (r < rows) accumulate(Group<Format, 1, kScaled>(addends, r), sum, n, start);
}

template <class Format>
RAILWAVE_INLINE void add(const Addends& addends, float* sum, std::size_t n, SumStart start) {
  if (addends.weights == nullptr) {
    add_groups<Format, false>(addends, sum, n, start);
  } else {
    add_groups<Format, true>(addends, sum, n, start);
  }
}

template <class Format>
struct Rounded {
  static constexpr std::size_t kCount = 1;
  const float* in;
  RAILWAVE_INLINE float operator()(std::size_t, std::size_t i) const {
    return Format::widen(Format::narrow(in[i]));
  }
};

template <class Format>
RAILWAVE_INLINE void add_rounded(const float* in, float* sum, std::size_t n, SumStart start) {
  accumulate(Rounded<Format>{in}, sum, n, start);
}

}  // namespace railwave::row_loops
