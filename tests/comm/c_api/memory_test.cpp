// No exception leaves the library when memory ends.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "comm/c_api/owned.hpp"

namespace c_api {
namespace {

TEST(CMemory, WithoutMemoryACallSaysSo) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
  rlimit tight = before;
  tight.rlim_cur = 1 << 30;
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &tight), 0);
  railwave_placement* placement = nullptr;
  // Four bytes an expert at least.
  const railwave_result result = railwave_placement_contiguous(1 << 30, 2, &placement);
  ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_EQ(result, RAILWAVE_RESOURCE_EXHAUSTED);
  EXPECT_EQ(placement, nullptr);
  EXPECT_EQ(railwave_last_error()->code, RAILWAVE_RESOURCE_EXHAUSTED);
  EXPECT_STREQ(railwave_last_error()->message, "there is no memory left for this call");
}

}  // namespace
}  // namespace c_api
