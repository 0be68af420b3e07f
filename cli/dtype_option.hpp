// Element types by the names that the command line uses.
#pragma once

#include <string_view>

#include <railwave/dtype.hpp>

#include "base/checked.hpp"

namespace railwave::cli {

/// REQUIRES: a name of to_string(DType).
inline DType dtype_named(std::string_view name) {
  for (const DType dtype : {DType::BF16, DType::FP32, DType::FP16, DType::FP8E4M3}) {
    if (to_string(dtype) == name) return dtype;
  }
  RAILWAVE_CHECK(false, "no element type has this name");
  return DType::BF16;
}

}  // namespace railwave::cli
