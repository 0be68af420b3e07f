// A part of a rank's segment from which its caller takes buffers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>

#include <railwave/error.hpp>

namespace railwave::transport {

/// First fit over a fixed range; every block begins at a multiple of 64 bytes of it.
/// Cost of a call: linear in the blocks. Threads: any.
class SharedArena {
 public:
  /// REQUIRES: `memory` is 64-byte aligned and outlives the arena.
  explicit SharedArena(std::span<std::byte> memory);
  /// Errors: InvalidArgument for negative bytes; ResourceExhausted with need and the largest block
  /// that is free.
  Result<std::span<std::byte>> take(std::int64_t bytes);
  /// REQUIRES: `block` came from take() and was not given back.
  void give_back(std::span<std::byte> block);
  [[nodiscard]] std::int64_t free_bytes() const;

 private:
  std::span<std::byte> memory_;
  mutable std::mutex mutex_;
  std::map<std::size_t, std::size_t> free_;  // offset -> bytes, no two of them touch
};

}  // namespace railwave::transport
