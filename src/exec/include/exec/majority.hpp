// Who disagrees, said the same way on every rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace railwave::exec {

struct OddOneOut {
  std::size_t index;     ///< the lowest rank whose value is not the common one
  std::uint64_t common;  ///< the value of most ranks; on a tie rank 0's if it is among them, else
                         ///< the least
};

/// Nothing when all values are equal. REQUIRES: not empty.
std::optional<OddOneOut> odd_one_out(std::span<const std::uint64_t> values);

}  // namespace railwave::exec
