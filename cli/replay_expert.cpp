#include "replay_expert.hpp"

#include <algorithm>
#include <cstring>

#include "base/number_format.hpp"

namespace railwave::cli {

PlainSum::PlainSum(DType dtype, std::int64_t hidden)
    : dtype_(dtype), sum_(static_cast<std::size_t>(hidden), 0.0F) {}

void PlainSum::reset() { std::fill(sum_.begin(), sum_.end(), 0.0F); }

void PlainSum::add(const std::byte* row) {
  for (std::size_t h = 0; h < sum_.size(); ++h) {
    if (dtype_ == DType::FP32) {
      float value;
      std::memcpy(&value, row + 4 * h, 4);
      sum_[h] += value;
    } else {
      std::uint16_t bits;
      std::memcpy(&bits, row + 2 * h, 2);
      sum_[h] += bf16_to_fp32(bits);
    }
  }
}

void PlainSum::store(std::byte* row) const {
  for (std::size_t h = 0; h < sum_.size(); ++h) {
    if (dtype_ == DType::FP32) {
      std::memcpy(row + 4 * h, &sum_[h], 4);
    } else {
      const std::uint16_t bits = fp32_to_bf16(sum_[h]);
      std::memcpy(row + 2 * h, &bits, 2);
    }
  }
}

ExpertSide::ExpertSide(const workload::ReplayRows& rows, DType dtype, std::int64_t hidden)
    : rows_(rows), one_(static_cast<std::size_t>(rows.row_bytes())), sum_(dtype, hidden) {}

void ExpertSide::fill(std::span<const ExpertId> experts, workload::RowIdentity row,
                      std::byte* out) {
  if (experts.size() == 1) {
    rows_.fill_expert_row(experts.front(), row, {out, one_.size()});
    return;
  }
  sum_.reset();
  for (const ExpertId expert : experts) {
    rows_.fill_expert_row(expert, row, one_);
    sum_.add(one_.data());
  }
  sum_.store(out);
}

}  // namespace railwave::cli
