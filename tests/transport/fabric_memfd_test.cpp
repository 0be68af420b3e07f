#include <atomic>
#include <filesystem>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "transport/fabric_contract.hpp"
#include "transport/memfd_fabric.hpp"

namespace railwave::transport {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::string fresh_key() {
  static std::atomic<int> count{0};
  return "memfd-test-" + std::to_string(::getpid()) + "-" + std::to_string(++count);
}

/// Every rank meets in a thread of its own, as its process would.
Fabrics meet_in_threads(const std::vector<std::int64_t>& bytes) {
  const std::string key = fresh_key();
  Fabrics fabrics(bytes.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    threads.emplace_back([&, i] {
      auto met = meet_over_memfd({key, static_cast<int>(i), static_cast<int>(bytes.size()),
                                  bytes[i], Clock::now() + seconds(20)});
      EXPECT_TRUE(met) << to_string(met.error());
      if (met) fabrics[i] = std::move(*met);
    });
  }
  for (auto& thread : threads) thread.join();
  return fabrics;
}

INSTANTIATE_TEST_SUITE_P(Memfd, FabricContract, testing::Values(FabricMaker(meet_in_threads)));

std::ptrdiff_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

TEST(MemfdFabric, SixteenRanksMeetAndLeaveNoDescriptorBehind) {
  const auto before = open_descriptors();
  {
    auto fabrics = meet_in_threads(std::vector<std::int64_t>(16, 4096));
    for (int i = 0; i < 16; ++i) fabrics[15]->signal(i);
    for (auto& fabric : fabrics) EXPECT_TRUE(readable(*fabric, kSoon));
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(MemfdFabric, TheDeadlineNamesWhoIsMissing) {
  const auto before = open_descriptors();
  const std::string key = fresh_key();
  std::array<Status, 2> outcome;
  std::vector<std::thread> threads;
  for (const int local : {0, 2}) {
    threads.emplace_back([&, local] {
      auto met = meet_over_memfd({key, local, 4, 64, Clock::now() + milliseconds(300)});
      if (!met) outcome[local == 0 ? 0 : 1] = tl::unexpected<Error>(met.error());
    });
  }
  for (auto& thread : threads) thread.join();
  for (const Status& status : outcome) {
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::Timeout);
    EXPECT_EQ(status.error().rank, 1);
    EXPECT_THAT(status.error().message, testing::HasSubstr("[1,3]"));
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST(MemfdFabric, AnotherKeyIsAnotherNode) {
  auto first = meet_in_threads({64, 64});
  auto second = meet_in_threads({64, 64});
  std::memset(first[0]->own().data(), 1, 64);
  EXPECT_THAT(second[1]->segment(0), testing::Each(std::byte{0}));
  first[0]->signal(1);
  EXPECT_FALSE(readable(*second[1], 0));
}

TEST(MemfdFabric, ThePeersMemoryCanNotBeMadeWritable) {
  auto fabrics = meet_in_threads({4096, 4096});
  auto* page = const_cast<std::byte*>(fabrics[0]->segment(1).data());
  EXPECT_NE(::mprotect(page, 4096, PROT_READ | PROT_WRITE), 0);
}

TEST(MemfdFabric, RefusesBadOptions) {
  const auto deadline = Clock::now() + seconds(5);
  const auto field_of = [](const MemfdFabricOptions& options) {
    const auto met = meet_over_memfd(options);
    if (met) return std::string("met");
    EXPECT_EQ(met.error().code, ErrorCode::InvalidArgument);
    return met.error().field;
  };
  EXPECT_EQ(field_of({"", 0, 1, 64, deadline}), "key");
  EXPECT_EQ(field_of({"k", 0, 0, 64, deadline}), "size");
  EXPECT_EQ(field_of({"k", -1, 2, 64, deadline}), "local");
  EXPECT_EQ(field_of({"k", 2, 2, 64, deadline}), "local");
  EXPECT_EQ(field_of({"k", 0, 1, -1, deadline}), "segment_bytes");
}

}  // namespace
}  // namespace railwave::transport
