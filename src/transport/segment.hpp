// Segments: page-aligned memory that other ranks of the node may see.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <railwave/error.hpp>

#include "base/event_loop.hpp"

namespace railwave::transport {

/// A mapping of whole pages that is undone when its owner goes.
class Mapping {
 public:
  Mapping() = default;
  Mapping(void* base, std::size_t bytes) : base_(base), bytes_(bytes) {}
  Mapping(Mapping&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Mapping();
  /// The first `bytes` of it. REQUIRES: bytes <= what was mapped.
  [[nodiscard]] std::span<std::byte> first(std::int64_t bytes) const;

 private:
  void* base_ = nullptr;
  std::size_t bytes_ = 0;
};

/// A memfd whose size can not change any more, and this rank's mapping of it.
struct SealedSegment {
  UniqueFd fd;
  Mapping mapping;
};

/// Creates the rank's own segment, zero-filled and sparse.
/// Errors: InvalidArgument{segment_bytes} when negative or too large for any machine;
/// ResourceExhausted with need and have.
Result<SealedSegment> create_sealed_segment(std::int64_t bytes);
/// Maps a peer's segment read-only. Errors: ProtocolViolation when it is not sealed or not as long
/// as `bytes` needs; ResourceExhausted.
Result<Mapping> map_peer_segment(int fd, std::int64_t bytes);
/// Zero-filled memory of this process alone, under the same limits.
Result<Mapping> map_private_segment(std::int64_t bytes);

}  // namespace railwave::transport
