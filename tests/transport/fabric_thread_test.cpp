#include <chrono>
#include <thread>

#include "transport/fabric_contract.hpp"
#include "transport/thread_fabric.hpp"

namespace railwave::transport {
namespace {

Fabrics make_threads(const std::vector<std::int64_t>& bytes) {
  auto fabrics = make_thread_fabrics(bytes);
  return fabrics ? std::move(*fabrics) : Fabrics{};
}

INSTANTIATE_TEST_SUITE_P(Thread, FabricContract, testing::Values(FabricMaker(make_threads)));

TEST(ThreadFabric, AnAbruptEndIsTheDeathOfThePeer) {
  auto fabrics = make_threads({64, 64, 64});
  std::thread dying([&] { end_abruptly(std::move(fabrics[2])); });
  ASSERT_TRUE(readable(*fabrics[0], kSoon));
  dying.join();
  for (int call = 0; call < 2; ++call) {
    const Status status = fabrics[0]->poll();
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::PeerFailed);
    EXPECT_EQ(status.error().rank, 2);
    EXPECT_FALSE(readable(*fabrics[0], 0));
  }
  EXPECT_EQ(fabrics[0]->segment(2).size(), 64U);
}

// Without a signal between them the word alone orders the two threads; a thread sanitizer sees it.
TEST(SharedWord, OrdersItsDataWithoutASignal) {
  constexpr std::uint64_t kLast = 2000;
  auto fabrics = make_threads({(1 + kLast) * 8, 8});
  std::thread writer([&] {
    auto* words = reinterpret_cast<std::uint64_t*>(fabrics[0]->own().data());
    for (std::uint64_t step = 1; step <= kLast; ++step) {
      words[step] = step * 3;
      publish(words, step);
      std::this_thread::yield();
    }
  });
  const auto* words = reinterpret_cast<const std::uint64_t*>(fabrics[1]->segment(0).data());
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::uint64_t checked = 0;
  std::uint64_t wrong = 0;
  while (checked < kLast && std::chrono::steady_clock::now() < give_up) {
    const std::uint64_t seen = observe(words);
    for (; checked < seen; ++checked) wrong += words[checked + 1] != (checked + 1) * 3;
    std::this_thread::yield();
  }
  writer.join();
  EXPECT_EQ(checked, kLast);
  EXPECT_EQ(wrong, 0U);
}

TEST(ThreadFabric, RefusesWhatCanNotBe) {
  EXPECT_EQ(make_thread_fabrics({}).error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(make_thread_fabrics({64, -1}).error().code, ErrorCode::InvalidArgument);
  const auto huge = make_thread_fabrics({std::int64_t{1} << 45});
  ASSERT_FALSE(huge);
  EXPECT_EQ(huge.error().code, ErrorCode::ResourceExhausted);
  EXPECT_EQ(huge.error().need, std::int64_t{1} << 45);
  EXPECT_GE(huge.error().have, 0);
  EXPECT_LT(huge.error().have, huge.error().need);
}

}  // namespace
}  // namespace railwave::transport
