// What travels with a row: whose token it is, and where its copies belong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/checked.hpp"

namespace railwave::exec {

/// One slot of a record, 12 bytes on the wire.
struct RecordSlot {
  std::int32_t expert = -1;  ///< expert id over the whole model, -1: none
  std::uint32_t row = 0;     ///< the copy's index among the rows (source rank -> expert's rank)
  float weight = 0;
};

/// Record meta on the wire and in the owner's segment: source rank u32, token u32, K slots
/// {expert i32, row u32, weight f32}, padded to 8 bytes. Little-endian.
constexpr std::int64_t record_meta_bytes(int top_k) { return round_up(8 + 12LL * top_k, 8); }

/// What goes before the rows of a combine that returns weights: K floats a record, padded to 8
/// bytes.
constexpr std::int64_t weights_meta_bytes(int top_k) { return round_up(4LL * top_k, 8); }

/// A view of one meta; `at` need not be aligned.
class RecordMeta {
 public:
  explicit RecordMeta(const std::byte* at) : at_(at) {}
  [[nodiscard]] std::uint32_t source_rank() const { return load<std::uint32_t>(0); }
  [[nodiscard]] std::uint32_t token() const { return load<std::uint32_t>(4); }
  [[nodiscard]] RecordSlot slot(int k) const {
    RecordSlot out;
    std::memcpy(&out, at_ + 8 + 12 * k, 12);
    return out;
  }
  static void write_head(std::byte* at, std::uint32_t source_rank, std::uint32_t token) {
    std::memcpy(at, &source_rank, 4);
    std::memcpy(at + 4, &token, 4);
  }
  static void write_slot(std::byte* at, int k, const RecordSlot& slot) {
    std::memcpy(at + 8 + 12 * k, &slot, 12);
  }

 private:
  template <class T>
  [[nodiscard]] T load(std::size_t offset) const {
    T out;
    std::memcpy(&out, at_ + offset, sizeof(T));
    return out;
  }
  const std::byte* at_;
};
static_assert(sizeof(RecordSlot) == 12);

}  // namespace railwave::exec
