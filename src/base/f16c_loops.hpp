// The loops of row_format.cpp for fp16 on CPUs with AVX2 and F16C, eight elements at a time.
#pragma once

#if defined(__x86_64__)
#include <cstddef>
#include <cstring>

#include <immintrin.h>

#include "base/number_format.hpp"
#include "base/row_format.hpp"

#define RAILWAVE_F16C [[gnu::target("avx2,f16c")]]
#define RAILWAVE_F16C_INLINE [[gnu::target("avx2,f16c"), gnu::always_inline]] inline

namespace railwave {

class F16c {
 public:
  RAILWAVE_F16C static void widen(const std::byte* row, float* out, std::size_t n) {
    for (std::size_t i = 0; i < n; i += kLanes) save(out + i, n - i, load(row + i * 2, n - i));
  }

  RAILWAVE_F16C static void narrow(const float* in, std::byte* row, std::size_t n) {
    for (std::size_t i = 0; i < n; i += kLanes) {
      save(row + i * 2, n - i, rounded(load(in + i, n - i)));
    }
  }

  RAILWAVE_F16C static void add(const Addends& addends, float* sum, std::size_t n, SumStart start) {
    for (std::size_t i = 0; i < n; i += kLanes) {
      __m256 running = begin(start, sum + i, n - i);
      for (std::size_t r = 0; r < addends.rows.size(); ++r) {
        __m256 addend = load(addends.rows[r] + i * 2, n - i);
        if (addends.weights != nullptr) {
          addend = _mm256_mul_ps(_mm256_set1_ps(addends.weights[r]), addend);
        }
        running = _mm256_add_ps(running, addend);
      }
      save(sum + i, n - i, running);
    }
  }

  RAILWAVE_F16C static void add_rounded(const float* in, float* sum, std::size_t n,
                                        SumStart start) {
    for (std::size_t i = 0; i < n; i += kLanes) {
      const __m256 addend = _mm256_cvtph_ps(rounded(load(in + i, n - i)));
      save(sum + i, n - i, _mm256_add_ps(begin(start, sum + i, n - i), addend));
    }
  }

 private:
  static constexpr std::size_t kLanes = 8;

  // Lanes beyond the last element are +0 and never saved.
  RAILWAVE_F16C_INLINE static __m256 load(const float* at, std::size_t left) {
    if (left >= kLanes) return _mm256_loadu_ps(at);
    __m256 out = _mm256_setzero_ps();
    std::memcpy(&out, at, left * sizeof(float));
    return out;
  }
  RAILWAVE_F16C_INLINE static __m256 load(const std::byte* at, std::size_t left) {
    __m128i bits = _mm_setzero_si128();
    if (left >= kLanes) {
      std::memcpy(&bits, at, sizeof(bits));
    } else {
      std::memcpy(&bits, at, left * 2);
    }
    return _mm256_cvtph_ps(bits);
  }
  RAILWAVE_F16C_INLINE static void save(float* at, std::size_t left, __m256 value) {
    if (left >= kLanes) return _mm256_storeu_ps(at, value);
    std::memcpy(at, &value, left * sizeof(float));
  }
  RAILWAVE_F16C_INLINE static void save(std::byte* at, std::size_t left, __m128i bits) {
    if (left >= kLanes) {
      std::memcpy(at, &bits, sizeof(bits));
    } else {
      std::memcpy(at, &bits, left * 2);
    }
  }

  RAILWAVE_F16C_INLINE static __m256 begin(SumStart start, const float* sum, std::size_t left) {
    return start == SumStart::Zero ? _mm256_setzero_ps() : load(sum, left);
  }

  /// To nearest, ties to even; NaNs become kFp16NaN.
  RAILWAVE_F16C_INLINE static __m128i rounded(__m256 value) {
    const __m256 is_nan = _mm256_cmp_ps(value, value, _CMP_UNORD_Q);
    const __m256 quiet = _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(kFp32NaN)));
    return _mm256_cvtps_ph(_mm256_blendv_ps(value, quiet, is_nan),
                           _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
};

}  // namespace railwave
#endif
