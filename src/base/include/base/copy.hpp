// Copies that leave the cache alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace railwave {

/// Copies like memcpy, but writes past the cache where the machine can: a line that is written as a
/// whole need not be read first, a third of the memory traffic of a copy. Worth it for more bytes
/// than the cache holds. settle_copies() before another thread is told of them. Threads: any.
inline void copy_past_cache(std::byte* out, const std::byte* in, std::size_t bytes) {
#if defined(__SSE2__)
  constexpr std::size_t kLine = 64;
  const std::size_t head = (kLine - reinterpret_cast<std::uintptr_t>(out) % kLine) % kLine;
  if (bytes >= head + kLine) {
    std::memcpy(out, in, head);
    const std::size_t lines = (bytes - head) / kLine;
    for (std::size_t i = 0; i < lines; ++i) {
      const auto* from = reinterpret_cast<const __m128i*>(in + head + i * kLine);
      auto* to = reinterpret_cast<__m128i*>(out + head + i * kLine);
      const __m128i a = _mm_loadu_si128(from);
      const __m128i b = _mm_loadu_si128(from + 1);
      const __m128i c = _mm_loadu_si128(from + 2);
      const __m128i d = _mm_loadu_si128(from + 3);
      _mm_stream_si128(to, a);
      _mm_stream_si128(to + 1, b);
      _mm_stream_si128(to + 2, c);
      _mm_stream_si128(to + 3, d);
    }
    const std::size_t done = head + lines * kLine;
    std::memcpy(out + done, in + done, bytes - done);
    return;
  }
#endif
  std::memcpy(out, in, bytes);
}

/// Makes earlier copies past the cache visible before whatever this thread writes next.
inline void settle_copies() {
#if defined(__SSE2__)
  _mm_sfence();
#endif
}

}  // namespace railwave
