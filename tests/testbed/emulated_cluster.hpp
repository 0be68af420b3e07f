// For tests that need an emulated cluster.
#pragma once

#include <cstdlib>
#include <string_view>

#include <gtest/gtest.h>

#include "testbed/cluster.hpp"

namespace railwave::testbed {

inline bool strict() {
  const char* value = std::getenv("RAILWAVE_STRICT");
  return value != nullptr && std::string_view(value) == "1";
}

}  // namespace railwave::testbed

/// Defines `name`, a running Cluster. Where none can be emulated the test is skipped with the
/// reason, or fails when RAILWAVE_STRICT=1. Any other error fails. To be used in a TEST body.
#define RAILWAVE_START_CLUSTER(name, spec)                                                  \
  auto name##_result = ::railwave::testbed::Cluster::start(spec);                           \
  if (!name##_result && name##_result.error().code == ::railwave::ErrorCode::Unsupported && \
      !::railwave::testbed::strict()) {                                                     \
    GTEST_SKIP() << to_string(name##_result.error());                                       \
  }                                                                                         \
  ASSERT_TRUE(name##_result.has_value()) << to_string(name##_result.error());               \
  auto& name = *name##_result

/// Skips, or fails when strict, where no cluster can be emulated.
#define RAILWAVE_NEED_CLUSTER()                                                  \
  RAILWAVE_START_CLUSTER(needed, ::railwave::testbed::uniform_cluster(1, 1, 1)); \
  (void)needed
