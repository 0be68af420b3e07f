// The loops over rows one element at a time, as a compiler makes them that does not vectorise: what
// the vectorised ones are compared with.
#pragma once

#include <cstddef>

#include <railwave/dtype.hpp>

namespace railwave::bench {

/// out[i] = fp32(row[i]).
void plain_widen(DType dtype, const std::byte* row, float* out, std::size_t n);
/// row[i] = in[i] rounded.
void plain_narrow(DType dtype, const float* in, std::byte* row, std::size_t n);
/// sum[i] += fp32(row[i]).
void plain_add(DType dtype, const std::byte* row, float* sum, std::size_t n);

}  // namespace railwave::bench
