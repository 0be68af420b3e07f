// Blocks of an arena against a list of who has which byte.
#include "transport/shared_arena.hpp"

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace {

using railwave::ErrorCode;
using railwave::transport::SharedArena;

class Arena : public testing::Test {
 protected:
  alignas(64) std::byte memory_[64 * 20 + 17];  // what is no whole line is not used
  SharedArena arena_{memory_};
};

TEST_F(Arena, BlocksDoNotTouchAndAreAligned) {
  std::vector<std::span<std::byte>> blocks;
  std::vector<int> owner(sizeof(memory_), 0);
  std::mt19937 rng(7);
  for (int i = 1; i <= 2000; ++i) {
    if (blocks.empty() || rng() % 2 == 0) {
      const auto block = arena_.take(static_cast<std::int64_t>(rng() % 300));
      if (!block) continue;
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block->data()) % 64, 0U);
      for (std::byte& b : *block) {
        EXPECT_EQ(owner[static_cast<std::size_t>(&b - memory_)], 0);
        owner[static_cast<std::size_t>(&b - memory_)] = i;
      }
      blocks.push_back(*block);
    } else {
      const std::size_t at = rng() % blocks.size();
      for (std::byte& b : blocks[at]) owner[static_cast<std::size_t>(&b - memory_)] = 0;
      arena_.give_back(blocks[at]);
      blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }
  for (const auto block : blocks) arena_.give_back(block);
  EXPECT_EQ(arena_.free_bytes(), 64 * 20);
  EXPECT_TRUE(arena_.take(64 * 20)) << "the pieces have grown together again";
}

TEST_F(Arena, SaysWhatIsNeededAndWhatIsFree) {
  const auto first = arena_.take(64 * 12);
  ASSERT_TRUE(first);
  for (const std::int64_t bytes : {std::int64_t{64 * 8 + 1}, std::int64_t{1} << 40,
                                   std::numeric_limits<std::int64_t>::max()}) {
    const auto refused = arena_.take(bytes);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::ResourceExhausted);
    EXPECT_EQ(refused.error().need, bytes);
    EXPECT_EQ(refused.error().have, 64 * 8);
  }
  EXPECT_EQ(arena_.take(-1).error().code, ErrorCode::InvalidArgument);
  EXPECT_FALSE(SharedArena({}).take(0));
}

TEST_F(Arena, BlocksOfNothingHavePlacesOfTheirOwn) {
  const auto a = arena_.take(0);
  const auto b = arena_.take(0);
  ASSERT_TRUE(a && b);
  EXPECT_NE(a->data(), b->data());
  arena_.give_back(*a);
  arena_.give_back(*b);
  EXPECT_EQ(arena_.free_bytes(), 64 * 20);
}

}  // namespace
