#include "counted_new.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>

#include <execinfo.h>

namespace {

constexpr std::int64_t kShown = 3;

std::atomic<bool> counting{false};
std::atomic<std::int64_t> counted{0};
thread_local int outside = 0;

void note() {
  if (!counting.load(std::memory_order_relaxed) || outside > 0) return;
  const std::int64_t before = counted.fetch_add(1);
  if (before >= kShown) return;
  ++outside;
  void* frames[24];
  const int depth = ::backtrace(frames, 24);
  ::backtrace_symbols_fd(frames, depth, 2);
  std::fputs("--\n", stderr);
  --outside;
}

void* taken(std::size_t bytes, std::size_t alignment) {
  note();
  const std::size_t least = std::max(bytes, alignment);
  return std::aligned_alloc(alignment, (least + alignment - 1) / alignment * alignment);
}

void* taken_or_throw(std::size_t bytes, std::size_t alignment) {
  void* at = taken(bytes, alignment);
  if (at == nullptr) throw std::bad_alloc();
  return at;
}

constexpr std::size_t kUsual = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace

namespace counted_new {

int& depth_outside() { return outside; }

void start() {
  counted = 0;
  counting = true;
}

std::int64_t stop() {
  counting = false;
  return counted;
}

}  // namespace counted_new

void* operator new(std::size_t bytes) { return taken_or_throw(bytes, kUsual); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return taken(bytes, kUsual);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return taken_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return taken(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* at) noexcept { std::free(at); }
void operator delete(void* at, std::size_t) noexcept { std::free(at); }
void operator delete(void* at, const std::nothrow_t&) noexcept { std::free(at); }
void operator delete(void* at, std::align_val_t) noexcept { std::free(at); }
void operator delete(void* at, std::size_t, std::align_val_t) noexcept { std::free(at); }

// The sanitizers have their own forms for arrays.
void* operator new[](std::size_t bytes) { return ::operator new(bytes); }
void* operator new[](std::size_t bytes, const std::nothrow_t& no) noexcept {
  return ::operator new(bytes, no);
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return ::operator new(bytes, alignment);
}
void* operator new[](std::size_t bytes, std::align_val_t alignment,
                     const std::nothrow_t& no) noexcept {
  return ::operator new(bytes, alignment, no);
}
void operator delete[](void* at) noexcept { std::free(at); }
void operator delete[](void* at, std::size_t) noexcept { std::free(at); }
void operator delete[](void* at, const std::nothrow_t&) noexcept { std::free(at); }
void operator delete[](void* at, std::align_val_t) noexcept { std::free(at); }
void operator delete[](void* at, std::size_t, std::align_val_t) noexcept { std::free(at); }
