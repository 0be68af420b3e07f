// Element types of token rows.
#pragma once

#include <cstdint>
#include <string_view>

namespace railwave {

/// Element type of a row. Stored little-endian, as on every supported machine.
enum class DType : std::uint8_t { BF16 = 1, FP32 = 2, FP16 = 3, FP8E4M3 = 4 };

/// Bytes of one element: 2, 4, 2, 1.
constexpr std::int64_t element_bytes(DType dtype) {
  switch (dtype) {
    case DType::BF16:
    case DType::FP16:
      return 2;
    case DType::FP32:
      return 4;
    case DType::FP8E4M3:
      return 1;
  }
  return 0;
}

/// Elements of a row that share one float32 scale in FP8E4M3 (DESIGN section 4).
constexpr std::int64_t kScaleBlock = 128;

/// float32 scales of a row: ceil(H / 128) in FP8E4M3, none in the other types.
constexpr std::int64_t scales_per_row(DType dtype, std::int64_t hidden) {
  return dtype == DType::FP8E4M3 ? (hidden + kScaleBlock - 1) / kScaleBlock : 0;
}

/// "bf16", "fp32", "fp16" or "fp8_e4m3".
constexpr std::string_view to_string(DType dtype) {
  switch (dtype) {
    case DType::BF16:
      return "bf16";
    case DType::FP32:
      return "fp32";
    case DType::FP16:
      return "fp16";
    case DType::FP8E4M3:
      return "fp8_e4m3";
  }
  return "?";
}

}  // namespace railwave
