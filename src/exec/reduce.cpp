#include "exec/reduce.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/checked.hpp"

namespace railwave::exec {

RowSum::RowSum(DType dtype, std::int64_t hidden, Memory* memory)
    : format_(row_format(dtype)),
      row_bytes_(static_cast<std::size_t>(hidden * element_bytes(dtype))),
      hidden_(static_cast<std::size_t>(hidden)),
      sum_(hidden_, memory) {
  RAILWAVE_CHECK(format_.add != nullptr, "dtype %d", static_cast<int>(dtype));
}

void RowSum::reset() { empty_ = true; }

SumStart RowSum::begin() { return std::exchange(empty_, false) ? SumStart::Zero : SumStart::Sum; }

void RowSum::start(const std::byte* row) {
  // -0 + x is x for every x, -0 included.
  std::fill_n(sum_.data(), hidden_, -0.0F);
  empty_ = false;
  add(row);
}

void RowSum::add(const std::byte* row) { add(std::span(&row, 1)); }

void RowSum::add(std::span<const std::byte* const> rows) {
  if (!rows.empty()) format_.add({rows}, sum_.data(), hidden_, begin());
}

void RowSum::add_scaled(const std::byte* row, float weight) {
  add_scaled(std::span(&row, 1), std::span(&weight, 1));
}

void RowSum::add_scaled(std::span<const std::byte* const> rows, std::span<const float> weights) {
  RAILWAVE_CHECK(rows.size() == weights.size(), "%zu, %zu", rows.size(), weights.size());
  if (!rows.empty()) format_.add({rows, weights.data()}, sum_.data(), hidden_, begin());
}

void RowSum::store(std::byte* row) const {
  if (empty_) {
    std::memset(row, 0, row_bytes_);
  } else {
    format_.narrow(sum_.data(), row, hidden_);
  }
}

namespace {

template <class Bits>
void clear_negative_zeros(std::byte* row, std::size_t elements) {
  constexpr auto kNegativeZero = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  for (std::size_t h = 0; h < elements; ++h) {
    Bits bits;
    std::memcpy(&bits, row + h * sizeof(Bits), sizeof(Bits));
    bits = bits == kNegativeZero ? Bits{0} : bits;
    std::memcpy(row + h * sizeof(Bits), &bits, sizeof(Bits));
  }
}

}  // namespace

void RowSum::store_alone(std::byte* row) const {
  store(row);
  if (row_bytes_ == hidden_ * sizeof(std::uint32_t)) {
    clear_negative_zeros<std::uint32_t>(row, hidden_);
  } else {
    clear_negative_zeros<std::uint16_t>(row, hidden_);
  }
}

void RowSum::add_rounded(const RowSum& other) {
  if (!other.empty_) {
    format_.add_rounded(other.sum_.data(), sum_.data(), hidden_, begin());
  } else if (!empty_) {
    // +0 makes a running -0 positive.
    for (std::size_t h = 0; h < hidden_; ++h) sum_[h] += 0.0F;
  }
}

}  // namespace railwave::exec
