#include "transport/shared_arena.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/checked.hpp"
#include "base/fail.hpp"

namespace railwave::transport {
namespace {

constexpr std::int64_t kLine = 64;

/// Nothing takes a line, too, so that every block has a place of its own.
std::size_t lines_of(std::int64_t bytes) {
  return static_cast<std::size_t>(round_up(std::max<std::int64_t>(bytes, 1), kLine));
}

}  // namespace

SharedArena::SharedArena(std::span<std::byte> memory) : memory_(memory) {
  const std::size_t whole = memory.size() / kLine * kLine;
  if (whole > 0) free_.emplace(0, whole);
}

Result<std::span<std::byte>> SharedArena::take(std::int64_t bytes) {
  if (bytes < 0) {
    return fail(ErrorCode::InvalidArgument, "bytes", fmt::format("{} is negative", bytes));
  }
  const std::scoped_lock lock(mutex_);
  const auto all = static_cast<std::int64_t>(memory_.size());
  const std::size_t need = bytes > all ? memory_.size() + 1 : lines_of(bytes);
  const auto at = std::find_if(free_.begin(), free_.end(),
                               [&](const auto& block) { return block.second >= need; });
  if (at == free_.end()) {
    std::size_t largest = 0;
    for (const auto& block : free_) largest = std::max(largest, block.second);
    Error error{ErrorCode::ResourceExhausted, -1, "shared_bytes",
                fmt::format("{} bytes are asked for and {} are free in one piece; make the group "
                            "with more shared_bytes",
                            bytes, largest)};
    error.need = bytes;
    error.have = static_cast<std::int64_t>(largest);
    return fail(std::move(error));
  }
  const auto [offset, size] = *at;
  free_.erase(at);
  if (size > need) free_.emplace(offset + need, size - need);
  return memory_.subspan(offset, static_cast<std::size_t>(bytes));
}

void SharedArena::give_back(std::span<std::byte> block) {
  const std::scoped_lock lock(mutex_);
  auto offset = static_cast<std::size_t>(block.data() - memory_.data());
  std::size_t size = lines_of(static_cast<std::int64_t>(block.size()));
  auto next = free_.upper_bound(offset);
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    RAILWAVE_CHECK(before->first + before->second <= offset);
    if (before->first + before->second == offset) {
      offset = before->first;
      size += before->second;
      free_.erase(before);
    }
  }
  if (next != free_.end() && offset + size == next->first) {
    size += next->second;
    free_.erase(next);
  }
  free_.emplace(offset, size);
}

std::int64_t SharedArena::free_bytes() const {
  const std::scoped_lock lock(mutex_);
  std::size_t sum = 0;
  for (const auto& block : free_) sum += block.second;
  return static_cast<std::int64_t>(sum);
}

}  // namespace railwave::transport
