// One hash for the values of this room, equal on every machine.
#pragma once

#include <cstdint>
#include <vector>

#include <xxhash.h>

namespace railwave {

/// Collects 64-bit words as little-endian bytes and hashes them (XXH3, 64 bits).
class Fingerprint {
 public:
  void add(std::int64_t word) {
    const auto bits = static_cast<std::uint64_t>(word);
    for (int shift = 0; shift < 64; shift += 8) {
      bytes_.push_back(static_cast<unsigned char>(bits >> shift));
    }
  }
  [[nodiscard]] std::uint64_t value() const { return XXH3_64bits(bytes_.data(), bytes_.size()); }

 private:
  std::vector<unsigned char> bytes_;
};

}  // namespace railwave
