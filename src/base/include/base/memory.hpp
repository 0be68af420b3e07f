// Memory that is kept for whoever asks next, so that a steady state asks the system for none.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <utility>

namespace railwave {

/// Where containers take their memory.
using Memory = std::pmr::memory_resource;

/// Keeps what comes back until it goes itself. Sizes are powers of two; where none of the size is
/// left, a block of up to four times as much serves, so that sizes that vary find blocks soon.
/// What came from it must be back before it goes: share it (make_kept) with what may outlive its
/// owner. Under AddressSanitizer nothing is kept, so that it sees uses of what is gone.
/// std::pmr's pools would do but for blocks beyond 4 MiB, which they take from the system each
/// time. Threads: any.
class KeptMemory final : public Memory {
 public:
  KeptMemory() = default;
  ~KeptMemory() override;
  KeptMemory(const KeptMemory&) = delete;
  KeptMemory& operator=(const KeptMemory&) = delete;

 private:
  /// Stands before what is given out.
  struct alignas(std::max_align_t) Block {
    std::size_t exponent;  // 2^exponent bytes, this included
    Block* next;           // of its size, while nobody has it
  };
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* at, std::size_t bytes, std::size_t alignment) override;
  [[nodiscard]] bool do_is_equal(const Memory& other) const noexcept override {
    return this == &other;
  }
  Block* take(std::size_t exponent);

  std::mutex mutex_;
  std::array<Block*, 64> free_{};  // by exponent
};

/// Memory of what lives and dies together: taken in growing blocks, given back in one go.
/// Threads: belongs to one.
class BatchMemory final : public std::pmr::monotonic_buffer_resource {
 public:
  explicit BatchMemory(Memory* upstream)
      : std::pmr::monotonic_buffer_resource(kFirstBytes, upstream) {}

 private:
  /// With what is noted beside it, 8 KiB: what a step of a few tokens takes.
  static constexpr std::size_t kFirstBytes = (8 << 10) - 64;
};

/// For std::allocate_shared: the memory lives as long as what is made of it.
template <class T>
class KeptAllocator {
 public:
  using value_type = T;
  explicit KeptAllocator(std::shared_ptr<KeptMemory> memory) : memory_(std::move(memory)) {}
  template <class Other>
  explicit KeptAllocator(const KeptAllocator<Other>& other) : memory_(other.memory()) {}
  T* allocate(std::size_t count) {
    return static_cast<T*>(memory_->allocate(count * sizeof(T), alignof(T)));
  }
  void deallocate(T* at, std::size_t count) noexcept {
    memory_->deallocate(at, count * sizeof(T), alignof(T));
  }
  [[nodiscard]] const std::shared_ptr<KeptMemory>& memory() const { return memory_; }
  friend bool operator==(const KeptAllocator& a, const KeptAllocator& b) {
    return a.memory_ == b.memory_;
  }

 private:
  std::shared_ptr<KeptMemory> memory_;
};

/// std::make_shared out of kept memory.
template <class T, class... Arguments>
std::shared_ptr<T> make_kept(const std::shared_ptr<KeptMemory>& memory, Arguments&&... arguments) {
  return std::allocate_shared<T>(KeptAllocator<T>(memory), std::forward<Arguments>(arguments)...);
}

}  // namespace railwave
