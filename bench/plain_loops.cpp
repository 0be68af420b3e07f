#include "plain_loops.hpp"

#include <cstring>

#include "base/number_format.hpp"

namespace railwave::bench {
namespace {

template <class Bits>
Bits load(const std::byte* row, std::size_t index) {
  Bits bits;
  std::memcpy(&bits, row + index * sizeof(bits), sizeof(bits));
  return bits;
}

/// Calls use(i, value of element i).
template <class Use>
void each_element(DType dtype, const std::byte* row, std::size_t n, Use use) {
  switch (dtype) {
    case DType::BF16:
      for (std::size_t i = 0; i < n; ++i) use(i, bf16_to_fp32(load<std::uint16_t>(row, i)));
      return;
    case DType::FP16:
      for (std::size_t i = 0; i < n; ++i) use(i, fp16_to_fp32(load<std::uint16_t>(row, i)));
      return;
    case DType::FP8E4M3:
      for (std::size_t i = 0; i < n; ++i) use(i, fp8_e4m3_to_fp32(load<std::uint8_t>(row, i)));
      return;
    case DType::FP32:
      for (std::size_t i = 0; i < n; ++i) use(i, load<float>(row, i));
  }
}

template <class Narrow>
void store_each(const float* in, std::byte* row, std::size_t n, Narrow narrow) {
  for (std::size_t i = 0; i < n; ++i) {
    const auto bits = narrow(in[i]);
    std::memcpy(row + i * sizeof(bits), &bits, sizeof(bits));
  }
}

}  // namespace

void plain_widen(DType dtype, const std::byte* row, float* out, std::size_t n) {
  each_element(dtype, row, n, [out](std::size_t i, float value) { out[i] = value; });
}

void plain_narrow(DType dtype, const float* in, std::byte* row, std::size_t n) {
  switch (dtype) {
    case DType::BF16:
      return store_each(in, row, n, fp32_to_bf16);
    case DType::FP16:
      return store_each(in, row, n, fp32_to_fp16);
    case DType::FP8E4M3:
      return store_each(in, row, n, fp32_to_fp8_e4m3);
    case DType::FP32:
      return store_each(in, row, n, canonical_fp32);
  }
}

void plain_add(DType dtype, const std::byte* row, float* sum, std::size_t n) {
  each_element(dtype, row, n, [sum](std::size_t i, float value) { sum[i] += value; });
}

}  // namespace railwave::bench
