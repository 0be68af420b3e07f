// Structs that start with their size, so that they can grow at their ends.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>

#include "base/fail.hpp"

namespace railwave::c_api {

/// Larger sizes are taken for a variable that was never set.
constexpr std::size_t kMostStructBytes = 1 << 16;

/// Checks the size of a caller's struct, whose first member it is.
template <class T>
Result<std::size_t> size_of(const T* given, const char* name) {
  static_assert(std::is_standard_layout_v<T> && std::is_trivially_copyable_v<T>);
  static_assert(offsetof(T, size) == 0);
  if (given == nullptr) return fail(ErrorCode::InvalidArgument, name, "it is NULL");
  std::size_t size = 0;
  std::memcpy(&size, given, sizeof(size));
  // Members of 8 bytes never straddle such a size, so it is the end of one.
  if (size >= sizeof(size) && size <= kMostStructBytes && size % alignof(T) == 0) return size;
  return fail(ErrorCode::InvalidArgument, name,
              "its size is " + std::to_string(size) + "; set it to sizeof, which is " +
                  std::to_string(sizeof(T)) + " for this library");
}

/// The caller's struct: members beyond its size are zero.
/// Errors: InvalidArgument for NULL, a size that can not be, a tail that this library does not know
/// and that is not zero.
template <class T>
Result<T> read_struct(const T* given, const char* name) {
  // Bytes between members would be garbage in which a later version puts members.
  static_assert(std::has_unique_object_representations_v<T>);
  const auto size = size_of(given, name);
  if (!size) return fail(size.error());
  T out{};
  std::memcpy(&out, given, std::min(*size, sizeof(T)));
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  if (*size > sizeof(T) &&
      std::any_of(bytes + sizeof(T), bytes + *size, [](unsigned char byte) { return byte != 0; })) {
    return fail(ErrorCode::InvalidArgument, name,
                "it has members beyond its first " + std::to_string(sizeof(T)) +
                    " bytes that this library does not know; set them to zero");
  }
  return out;
}

/// Writes as much as the caller's struct holds, and zero beyond what this library knows; its size
/// stays.
template <class T>
Status write_struct(T value, T* given, const char* name) {
  const auto size = size_of(given, name);
  if (!size) return fail(size.error());
  value.size = *size;
  std::memcpy(given, &value, std::min(*size, sizeof(T)));
  if (*size > sizeof(T)) {
    std::memset(reinterpret_cast<unsigned char*>(given) + sizeof(T), 0, *size - sizeof(T));
  }
  return {};
}

}  // namespace railwave::c_api
