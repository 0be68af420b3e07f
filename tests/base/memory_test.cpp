#include "base/memory.hpp"

#include <cstdint>
#include <cstring>
#include <memory>
#include <memory_resource>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace {

using railwave::BatchMemory;
using railwave::KeptMemory;

TEST(KeptMemory, GivesOutAgainWhatCameBack) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "under AddressSanitizer nothing is kept";
#endif
  KeptMemory kept;
  void* first = kept.allocate(1000);
  std::memset(first, 1, 1000);
  kept.deallocate(first, 1000);
  EXPECT_EQ(kept.allocate(900), first);
  void* second = kept.allocate(900);
  EXPECT_NE(second, first) << "the first one is in use";
  kept.deallocate(first, 900);
  kept.deallocate(second, 900);
}

TEST(KeptMemory, ServesFromBlocksUpToFourTimesAsLarge) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "under AddressSanitizer nothing is kept";
#endif
  KeptMemory kept;
  void* large = kept.allocate(4000);
  kept.deallocate(large, 4000);
  void* other = kept.allocate(400);
  EXPECT_NE(other, large) << "eight times as much would be wasted";
  EXPECT_EQ(kept.allocate(1000), large);
  kept.deallocate(large, 1000);
  EXPECT_EQ(kept.allocate(4000), large) << "it has kept its size";
  kept.deallocate(large, 4000);
  kept.deallocate(other, 400);
}

TEST(KeptMemory, BlocksAreAlignedAndApart) {
  KeptMemory kept;
  std::vector<std::pair<unsigned char*, std::size_t>> blocks;
  for (std::size_t bytes : {0U, 1U, 16U, 111U, 112U, 113U, 5000U, 70000U}) {
    auto* at = static_cast<unsigned char*>(kept.allocate(bytes));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(at) % alignof(std::max_align_t), 0U);
    std::memset(at, static_cast<int>(blocks.size()), bytes);
    blocks.emplace_back(at, bytes);
  }
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    for (std::size_t b = 0; b < blocks[i].second; ++b) ASSERT_EQ(blocks[i].first[b], i);
    kept.deallocate(blocks[i].first, blocks[i].second);
  }
}

TEST(KeptMemory, LivesAsLongAsWhatIsMadeOfIt) {
  struct Numbers {
    explicit Numbers(railwave::Memory* memory) : batch(memory), values(&batch) {
      values.resize(10000, 7);
    }
    BatchMemory batch;
    std::pmr::vector<int> values;
  };
  auto kept = std::make_shared<KeptMemory>();
  auto numbers = railwave::make_kept<Numbers>(kept, kept.get());
  const std::weak_ptr<KeptMemory> watched = kept;
  kept.reset();
  EXPECT_FALSE(watched.expired());
  EXPECT_EQ(numbers->values.back(), 7);
  numbers.reset();
  EXPECT_TRUE(watched.expired());
}

}  // namespace
