// Memory that the ranks of a node read in place.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

namespace railwave {

namespace transport {
class SharedArena;
}

/// A buffer of Communicator::allocate(), 64-byte aligned, zeroed at the group's creation only.
/// Rows and scales that lie in such buffers are read by the node's ranks where they are, others are
/// copied once before. Give it back before the group goes: the memory is the group's.
/// Threads: belongs to one thread; may be destroyed by any.
class SharedBuffer {
 public:
  SharedBuffer() = default;
  SharedBuffer(std::shared_ptr<transport::SharedArena> arena, std::span<std::byte> bytes)
      : arena_(std::move(arena)), bytes_(bytes) {}
  SharedBuffer(SharedBuffer&& other) noexcept
      : arena_(std::move(other.arena_)), bytes_(std::exchange(other.bytes_, {})) {}
  SharedBuffer& operator=(SharedBuffer&& other) noexcept {
    SharedBuffer taken(std::move(other));
    std::swap(arena_, taken.arena_);
    std::swap(bytes_, taken.bytes_);
    return *this;  // what this one had goes with `taken`
  }
  ~SharedBuffer();
  [[nodiscard]] std::byte* data() const { return bytes_.data(); }
  [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::shared_ptr<transport::SharedArena> arena_;
  std::span<std::byte> bytes_;
};

}  // namespace railwave
