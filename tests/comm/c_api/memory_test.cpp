// No exception leaves the library when memory ends.
#include <cstdlib>
#include <fstream>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "comm/c_api/owned.hpp"

namespace c_api {
namespace {

constexpr rlim_t kMiB = 1 << 20;

/// While it lives, the process can map `more` bytes beyond what it has.
class TightMemory {
 public:
  explicit TightMemory(rlim_t more) {
    std::ifstream statm("/proc/self/statm");
    rlim_t pages = 0;
    statm >> pages;
    EXPECT_EQ(::getrlimit(RLIMIT_AS, &before_), 0);
    rlimit tight = before_;
    tight.rlim_cur = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + more;
    EXPECT_EQ(::setrlimit(RLIMIT_AS, &tight), 0);
  }
  ~TightMemory() { ::setrlimit(RLIMIT_AS, &before_); }
  TightMemory(const TightMemory&) = delete;
  TightMemory& operator=(const TightMemory&) = delete;

 private:
  rlimit before_{};
};

TEST(CMemory, WithoutMemoryACallSaysSo) {
  railwave_placement* placement = nullptr;
  railwave_result result = RAILWAVE_SUCCESS;
  {
    const TightMemory tight(64 * kMiB);
    result = railwave_placement_contiguous(1 << 28, 2, &placement);  // 1 GiB of owners
  }
  EXPECT_EQ(result, RAILWAVE_RESOURCE_EXHAUSTED);
  EXPECT_EQ(placement, nullptr);
  EXPECT_EQ(railwave_last_error()->code, RAILWAVE_RESOURCE_EXHAUSTED);
  EXPECT_STREQ(railwave_last_error()->message, "there is no memory left for this call");
}

/// A group of one, whose launcher is this test.
Group group_of_one(std::int64_t hidden) {
  for (const char* name : {"WORLD_SIZE", "LOCAL_WORLD_SIZE"}) ::setenv(name, "1", 1);
  for (const char* name : {"RANK", "LOCAL_RANK"}) ::setenv(name, "0", 1);
  ::setenv("MASTER_ADDR", "127.0.0.1", 1);
  ::setenv("MASTER_PORT", "29500", 1);
  auto config = sized<railwave_group_config>();
  config.max_tokens_per_rank = config.max_recv_rows = 1;
  config.max_hidden = hidden;
  config.widest_dtype = RAILWAVE_FP32;
  railwave_group* group = nullptr;
  EXPECT_EQ(railwave_group_create(uniform(1, 1, 1).get(), contiguous(1, 1).get(), &config, &group),
            RAILWAVE_SUCCESS)
      << railwave_last_error()->sentence;
  return Group(group);
}

TEST(CMemory, AStepThatRunsOutOfItEndsTheGroup) {
  constexpr std::int64_t kHidden = 1 << 25;  // a row of 128 MiB
  const Group group = group_of_one(kHidden);
  ASSERT_NE(group, nullptr);
  const std::vector<float> x(kHidden, 1.0F);
  const std::int64_t expert = 0;
  auto config = sized<railwave_dispatch_config>();
  config.x = x.data();
  config.tokens = config.top_k = 1;
  config.hidden = kHidden;
  config.dtype = RAILWAVE_FP32;
  config.topk_idx = &expert;
  railwave_received* received = nullptr;
  railwave_result result = RAILWAVE_SUCCESS;
  {
    const TightMemory tight(32 * kMiB);
    result = railwave_dispatch(group.get(), &config, &received);
  }
  EXPECT_EQ(result, RAILWAVE_INTERNAL);
  EXPECT_EQ(received, nullptr);
  const char* const ended = "step 1: there was no memory left in the middle of it";
  EXPECT_STREQ(railwave_last_error()->message, ended);
  EXPECT_EQ(railwave_dispatch(group.get(), &config, &received), RAILWAVE_INTERNAL);
  EXPECT_STREQ(railwave_last_error()->message, ended);
  EXPECT_EQ(railwave_combine(group.get(), nullptr, nullptr), RAILWAVE_INTERNAL);
}

}  // namespace
}  // namespace c_api
