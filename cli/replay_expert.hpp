// Sums of rows outside the library, for what experts return and for what combine must give.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <railwave/dtype.hpp>
#include <railwave/ids.hpp>

#include "workload/replay_rows.hpp"

namespace railwave::cli {

/// A running fp32 sum of rows, rounded once. Shares no code with the library's.
class PlainSum {
 public:
  PlainSum(DType dtype, std::int64_t hidden);
  void reset();
  void add(const std::byte* row);
  void store(std::byte* row) const;

 private:
  DType dtype_;
  std::vector<float> sum_;
};

/// What a rank's experts return for a token.
class ExpertSide {
 public:
  /// REQUIRES: `rows` outlives this.
  ExpertSide(const workload::ReplayRows& rows, DType dtype, std::int64_t hidden);
  /// Writes the sum of the experts' rows, in the order given.
  void fill(std::span<const ExpertId> experts, workload::RowIdentity row, std::byte* out);

 private:
  const workload::ReplayRows& rows_;
  std::vector<std::byte> one_;
  PlainSum sum_;
};

}  // namespace railwave::cli
