#include "exec/reduce.hpp"

#include <algorithm>
#include <cstring>

#include "base/number_format.hpp"

namespace railwave::exec {
namespace {

// Rows may lie at any address. Loads through memcpy cost nothing and vectorise.
template <class T>
T load(const std::byte* at, std::size_t index) {
  T value;
  std::memcpy(&value, at + index * sizeof(T), sizeof(T));
  return value;
}

template <class T>
void save(std::byte* at, std::size_t index, T value) {
  std::memcpy(at + index * sizeof(T), &value, sizeof(T));
}

}  // namespace

RowSum::RowSum(DType dtype, std::int64_t hidden)
    : dtype_(dtype), sum_(static_cast<std::size_t>(hidden), 0.0F) {}

void RowSum::reset() { std::fill(sum_.begin(), sum_.end(), 0.0F); }

void RowSum::start(const std::byte* row) {
  // -0 + x is x for every x, -0 included.
  std::fill(sum_.begin(), sum_.end(), -0.0F);
  add(row);
}

void RowSum::add(const std::byte* row) {
  float* sum = sum_.data();
  const std::size_t hidden = sum_.size();
  if (dtype_ == DType::FP32) {
    for (std::size_t h = 0; h < hidden; ++h) sum[h] += load<float>(row, h);
  } else {
    for (std::size_t h = 0; h < hidden; ++h) sum[h] += bf16_to_fp32(load<std::uint16_t>(row, h));
  }
}

void RowSum::store(std::byte* row) const {
  const float* sum = sum_.data();
  const std::size_t hidden = sum_.size();
  if (dtype_ == DType::FP32) {
    for (std::size_t h = 0; h < hidden; ++h) save(row, h, canonical_fp32(sum[h]));
  } else {
    for (std::size_t h = 0; h < hidden; ++h) save(row, h, fp32_to_bf16(sum[h]));
  }
}

void RowSum::add_rounded(const RowSum& other) {
  float* sum = sum_.data();
  const float* addend = other.sum_.data();
  const std::size_t hidden = sum_.size();
  if (dtype_ == DType::FP32) {
    for (std::size_t h = 0; h < hidden; ++h) sum[h] += canonical_fp32(addend[h]);
  } else {
    for (std::size_t h = 0; h < hidden; ++h) sum[h] += bf16_to_fp32(fp32_to_bf16(addend[h]));
  }
}

}  // namespace railwave::exec
