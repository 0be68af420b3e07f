#include "exec/reduce.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

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
    : dtype_(dtype),
      hidden_(static_cast<std::size_t>(hidden)),
      sum_(std::make_unique_for_overwrite<float[]>(hidden_)) {}

void RowSum::reset() { empty_ = true; }

template <class Addend>
void RowSum::add_each(Addend addend) {
  float* sum = sum_.get();
  if (std::exchange(empty_, false)) {
    for (std::size_t h = 0; h < hidden_; ++h) sum[h] = 0.0F + addend(h);
  } else {
    for (std::size_t h = 0; h < hidden_; ++h) sum[h] += addend(h);
  }
}

void RowSum::start(const std::byte* row) {
  // -0 + x is x for every x, -0 included.
  std::fill_n(sum_.get(), hidden_, -0.0F);
  empty_ = false;
  add(row);
}

void RowSum::add(const std::byte* row) {
  if (dtype_ == DType::FP32) {
    add_each([row](std::size_t h) { return load<float>(row, h); });
  } else {
    add_each([row](std::size_t h) { return bf16_to_fp32(load<std::uint16_t>(row, h)); });
  }
}

void RowSum::store(std::byte* row) const {
  if (empty_) {
    std::memset(row, 0, hidden_ * static_cast<std::size_t>(element_bytes(dtype_)));
    return;
  }
  const float* sum = sum_.get();
  if (dtype_ == DType::FP32) {
    for (std::size_t h = 0; h < hidden_; ++h) save(row, h, canonical_fp32(sum[h]));
  } else {
    for (std::size_t h = 0; h < hidden_; ++h) save(row, h, fp32_to_bf16(sum[h]));
  }
}

void RowSum::add_rounded(const RowSum& other) {
  if (other.empty_) return add_each([](std::size_t) { return 0.0F; });
  const float* addend = other.sum_.get();
  if (dtype_ == DType::FP32) {
    add_each([addend](std::size_t h) { return canonical_fp32(addend[h]); });
  } else {
    add_each([addend](std::size_t h) { return bf16_to_fp32(fp32_to_bf16(addend[h])); });
  }
}

}  // namespace railwave::exec
