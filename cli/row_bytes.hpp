// The bytes of a row, for every verb that has --hidden.
#pragma once

#include <cstdint>

#include <railwave/dtype.hpp>
#include <railwave/error.hpp>

namespace railwave::cli {

/// Of H elements and, of fp8, a float32 scale for every 128 of them.
/// Errors: InvalidArgument{--hidden} when H is below 1 or the bytes leave 64 bits.
Result<std::int64_t> row_bytes(std::int64_t hidden, DType dtype);

}  // namespace railwave::cli
