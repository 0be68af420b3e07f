#include "base/memory.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <new>

#include "base/checked.hpp"

namespace railwave {
namespace {

/// Shared by all sizes below, so that small requests do not spread over many.
constexpr std::size_t kLeastExponent = 7;
/// How many sizes above its own a request may be served from.
constexpr std::size_t kMoreSizes = 2;

}  // namespace

KeptMemory::~KeptMemory() {
  for (Block* block : free_) {
    while (block != nullptr) ::operator delete(std::exchange(block, block->next));
  }
}

KeptMemory::Block* KeptMemory::take(std::size_t exponent) {
  const std::lock_guard lock(mutex_);
  const std::size_t end = std::min(exponent + kMoreSizes + 1, free_.size());
  for (std::size_t at = exponent; at < end; ++at) {
    if (free_[at] != nullptr) return std::exchange(free_[at], free_[at]->next);
  }
  return nullptr;
}

void* KeptMemory::do_allocate(std::size_t bytes, std::size_t alignment) {
  RAILWAVE_CHECK(alignment <= alignof(std::max_align_t), "alignment %zu", alignment);
  if (bytes > std::numeric_limits<std::size_t>::max() / 4) throw std::bad_alloc();
  const auto exponent =
      std::max(kLeastExponent, static_cast<std::size_t>(std::bit_width(bytes + sizeof(Block) - 1)));
  Block* block = take(exponent);
  if (block == nullptr) {
    block = new (::operator new (std::size_t{1} << exponent)) Block{exponent, nullptr};
  }
  return block + 1;
}

void KeptMemory::do_deallocate(void* at, std::size_t, std::size_t) {
  Block* block = static_cast<Block*>(at) - 1;
#ifdef __SANITIZE_ADDRESS__
  return ::operator delete(block);  // nothing is kept: uses after this shall be seen
#endif
  const std::lock_guard lock(mutex_);
  block->next = std::exchange(free_[block->exponent], block);
}

}  // namespace railwave
