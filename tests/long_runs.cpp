// With RAILWAVE_LONG every property of this executable meets 20,000 cases instead of 100.
// RapidCheck reads RC_PARAMS once, when the first property runs.
#include <cstdlib>

#include <gtest/gtest.h>

namespace railwave {
namespace {

class LongRuns : public ::testing::Environment {
 public:
  void SetUp() override {
    if (std::getenv("RAILWAVE_LONG") != nullptr) setenv("RC_PARAMS", "max_success=20000", 0);
  }
};

[[maybe_unused]] const auto* const kLongRuns =
    ::testing::AddGlobalTestEnvironment(new LongRuns);  // gtest owns it

}  // namespace
}  // namespace railwave
