// The tests that every Rail must pass. A backend joins by instantiating RailContract.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "transport/rank_group.hpp"

namespace railwave::transport::test {

struct BackendCase {
  std::string name;
  std::function<std::unique_ptr<RailBackend>()> make;
};

class RailContract : public testing::TestWithParam<BackendCase> {
 protected:
  std::unique_ptr<RailBackend> backend = GetParam().make();
};

inline std::string case_name(const testing::TestParamInfo<BackendCase>& info) {
  return info.param.name;
}

}  // namespace railwave::transport::test
