// A caller's buffer between guard bytes, so that a write beside it shows.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

namespace cases {

/// `bytes` bytes between 64 bytes of 0xA5 on each side, filled with NaN: all bits set is a NaN in
/// bf16 and in fp32.
class Guarded {
 public:
  explicit Guarded(std::size_t bytes) : bytes_(bytes + 2 * kGuard, kMark) {
    std::fill(inside().begin(), inside().end(), kNan);
  }
  [[nodiscard]] std::span<std::byte> inside() {
    return std::span(bytes_).subspan(kGuard, bytes_.size() - 2 * kGuard);
  }
  [[nodiscard]] bool guards_intact() const {
    return std::all_of(bytes_.begin(), bytes_.begin() + kGuard, is_mark) &&
           std::all_of(bytes_.end() - kGuard, bytes_.end(), is_mark);
  }
  /// Nothing has been written at all.
  [[nodiscard]] bool untouched() { return untouched_from(0); }
  /// Nothing has been written from byte `first` on.
  [[nodiscard]] bool untouched_from(std::size_t first) {
    const auto rest = inside().subspan(first);
    return guards_intact() &&
           std::all_of(rest.begin(), rest.end(), [](std::byte b) { return b == kNan; });
  }

 private:
  static constexpr std::ptrdiff_t kGuard = 64;
  static constexpr std::byte kMark{0xa5};
  static constexpr std::byte kNan{0xff};
  static bool is_mark(std::byte b) { return b == kMark; }
  std::vector<std::byte> bytes_;
};

}  // namespace cases
