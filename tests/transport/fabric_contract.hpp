// What every NodeFabric must do. A backend's test file instantiates it with a FabricMaker.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <rapidcheck/gtest.h>

#include "transport/node_fabric.hpp"
#include "transport/shared_word.hpp"

namespace railwave::transport {

using Fabrics = std::vector<std::unique_ptr<NodeFabric>>;
using FabricMaker = std::function<Fabrics(const std::vector<std::int64_t>&)>;

/// True when the fabric's descriptor is readable within `milliseconds`.
inline bool readable(const NodeFabric& fabric, int milliseconds) {
  pollfd entry{fabric.wait_fd(), POLLIN, 0};
  return ::poll(&entry, 1, milliseconds) == 1;
}
constexpr int kSoon = 5000;

class FabricContract : public testing::TestWithParam<FabricMaker> {
 protected:
  static Fabrics make(const std::vector<std::int64_t>& bytes) { return GetParam()(bytes); }
};

TEST_P(FabricContract, SegmentsAreZeroAlignedAndOfTheirOwnSizes) {
  const std::vector<std::int64_t> bytes{0, 1, 4095, 4096, 4097, 1 << 16};
  auto fabrics = make(bytes);
  ASSERT_EQ(fabrics.size(), bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_EQ(fabrics[i]->size(), 6);
    EXPECT_EQ(fabrics[i]->local(), static_cast<int>(i));
    const auto own = fabrics[i]->own();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(own.data()) % 4096, 0U);
    for (int peer = 0; peer < 6; ++peer) {
      const auto seen = fabrics[i]->segment(peer);
      ASSERT_EQ(seen.size(), static_cast<std::size_t>(bytes[static_cast<std::size_t>(peer)]));
      EXPECT_THAT(seen, testing::Each(std::byte{0}));
    }
    EXPECT_EQ(fabrics[i]->segment(static_cast<int>(i)).data(), own.data());
  }
}

TEST_P(FabricContract, OneRankIsANodeToo) {
  auto fabrics = make({64});
  ASSERT_EQ(fabrics.size(), 1U);
  EXPECT_FALSE(readable(*fabrics[0], 0));
  fabrics[0]->signal(0);
  EXPECT_TRUE(readable(*fabrics[0], kSoon));
  EXPECT_TRUE(fabrics[0]->poll());
  EXPECT_FALSE(readable(*fabrics[0], 0));
}

TEST_P(FabricContract, SignalsWakeOnlyTheirTargetAndMerge) {
  auto fabrics = make({64, 64, 64});
  const int before = fabrics[2]->wait_fd();
  for (int i = 0; i < 1000; ++i) fabrics[0]->signal(2);
  fabrics[1]->signal(2);
  EXPECT_TRUE(readable(*fabrics[2], kSoon));
  EXPECT_FALSE(readable(*fabrics[0], 0));
  EXPECT_FALSE(readable(*fabrics[1], 0));
  EXPECT_TRUE(fabrics[2]->poll());
  EXPECT_FALSE(readable(*fabrics[2], 0));
  EXPECT_TRUE(fabrics[2]->poll());
  EXPECT_EQ(fabrics[2]->wait_fd(), before);
}

TEST_P(FabricContract, AnyThreadMaySignal) {
  auto fabrics = make({64, 64});
  std::thread first([&] { fabrics[0]->signal(1); });
  std::thread second([&] { fabrics[0]->signal(1); });
  EXPECT_TRUE(readable(*fabrics[1], kSoon));
  first.join();
  second.join();
  EXPECT_TRUE(fabrics[1]->poll());
}

TEST_P(FabricContract, PlainWritesAreVisibleAfterThePoll) {
  auto fabrics = make({4096, 4096});
  std::thread writer([&] {
    std::memset(fabrics[0]->own().data(), 0x5a, 4096);
    fabrics[0]->signal(1);
  });
  ASSERT_TRUE(readable(*fabrics[1], kSoon));
  ASSERT_TRUE(fabrics[1]->poll());
  EXPECT_THAT(fabrics[1]->segment(0), testing::Each(std::byte{0x5a}));
  writer.join();
}

TEST_P(FabricContract, APublishedWordNeverOvertakesItsData) {
  constexpr std::uint64_t kLast = 2000;
  constexpr std::size_t kWords = 1 + kLast;  // [0] the count, then one payload word per step
  auto fabrics = make({kWords * 8, 8});
  std::thread writer([&] {
    auto* words = reinterpret_cast<std::uint64_t*>(fabrics[0]->own().data());
    for (std::uint64_t step = 1; step <= kLast; ++step) {
      words[step] = step * step;
      publish(words, step);
      fabrics[0]->signal(1);
    }
  });
  const auto* words = reinterpret_cast<const std::uint64_t*>(fabrics[1]->segment(0).data());
  std::uint64_t checked = 0;
  std::uint64_t wrong = 0;
  while (checked < kLast && readable(*fabrics[1], kSoon)) {
    ASSERT_TRUE(fabrics[1]->poll());
    const std::uint64_t seen = observe(words);
    for (; checked < seen; ++checked) wrong += words[checked + 1] != (checked + 1) * (checked + 1);
  }
  writer.join();
  EXPECT_EQ(checked, kLast);
  EXPECT_EQ(wrong, 0U);
}

TEST_P(FabricContract, AnEndInPeaceLeavesTheSegmentAndNoError) {
  auto fabrics = make({64, 64, 64});
  std::memset(fabrics[1]->own().data(), 7, 64);
  fabrics[1].reset();
  static_cast<void>(readable(*fabrics[0], 50));  // the goodbye may or may not wake the sleeper
  EXPECT_TRUE(fabrics[0]->poll());
  EXPECT_FALSE(readable(*fabrics[0], 0));
  EXPECT_THAT(fabrics[0]->segment(1), testing::Each(std::byte{7}));
  fabrics[0]->signal(1);
  fabrics[0]->signal(2);
  EXPECT_TRUE(readable(*fabrics[2], kSoon));
  EXPECT_TRUE(fabrics[2]->poll());
}

TEST_P(FabricContract, EveryRankMayEndInAnyOrder) {
  auto fabrics = make({64, 64, 64, 64});
  for (const std::size_t leaver : {2U, 0U, 3U}) {
    fabrics[leaver].reset();
    EXPECT_TRUE(fabrics[1]->poll());
  }
  EXPECT_FALSE(readable(*fabrics[1], 0));
}

TEST_P(FabricContract, EveryViewShowsWhatTheOwnersWrote) {
  rc::check([] {
    const auto size = *rc::gen::inRange<std::size_t>(1, 5);
    const auto bytes = *rc::gen::container<std::vector<std::int64_t>>(
        size, rc::gen::inRange<std::int64_t>(0, 10000));
    auto fabrics = make(bytes);
    std::vector<std::vector<std::byte>> model;
    for (std::size_t i = 0; i < size; ++i) {
      const auto content = *rc::gen::container<std::vector<std::uint8_t>>(
          static_cast<std::size_t>(bytes[i]), rc::gen::arbitrary<std::uint8_t>());
      const auto as_bytes = std::as_bytes(std::span(content));
      model.emplace_back(as_bytes.begin(), as_bytes.end());
      std::copy(as_bytes.begin(), as_bytes.end(), fabrics[i]->own().begin());
    }
    for (auto& fabric : fabrics) {
      for (std::size_t peer = 0; peer < size; ++peer) {
        const auto seen = fabric->segment(static_cast<int>(peer));
        RC_ASSERT(std::equal(seen.begin(), seen.end(), model[peer].begin(), model[peer].end()));
      }
    }
  });
}

}  // namespace railwave::transport
