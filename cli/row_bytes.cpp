#include "row_bytes.hpp"

#include <fmt/format.h>

#include "base/checked.hpp"
#include "base/fail.hpp"

namespace railwave::cli {

Result<std::int64_t> row_bytes(std::int64_t hidden, DType dtype) {
  const auto elements = hidden > 0 ? checked_mul(hidden, element_bytes(dtype)) : std::nullopt;
  const std::int64_t scales = dtype == DType::FP8E4M3 && elements ? 4 * ceil_div(hidden, 128) : 0;
  const auto row = elements ? checked_add(*elements, scales) : std::nullopt;
  if (row) return *row;
  return fail(ErrorCode::InvalidArgument, "--hidden",
              fmt::format("hidden is {}, expected at least 1 and a row of {} below 2^63 bytes",
                          hidden, to_string(dtype)));
}

}  // namespace railwave::cli
