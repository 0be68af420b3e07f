// Copies past the cache at every alignment and length, between bytes that must not change.
#include "base/copy.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace {

TEST(CopyPastCache, CopiesAllBytesAndNoMore) {
  std::vector<std::byte> in(400);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::byte>(i * 7 + 1);
  for (const std::size_t from : {0U, 1U, 8U, 63U}) {
    for (std::size_t to = 0; to < 65; ++to) {
      for (std::size_t bytes = 0; bytes < 260; ++bytes) {
        std::vector<std::byte> out(400, std::byte{0xa5});
        railwave::copy_past_cache(out.data() + to, in.data() + from, bytes);
        railwave::settle_copies();
        for (std::size_t i = 0; i < out.size(); ++i) {
          const bool inside = i >= to && i < to + bytes;
          ASSERT_EQ(out[i], inside ? in[from + i - to] : std::byte{0xa5})
              << "from " << from << " to " << to << ", " << bytes << " bytes, byte " << i;
        }
      }
    }
  }
}

}  // namespace
