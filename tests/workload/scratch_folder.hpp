// Tests that read files which they write themselves.
#pragma once

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "scratch_directory.hpp"

namespace railwave::workload {

class ScratchFolder : public ::testing::Test {
 protected:
  std::string write(std::string_view name, std::string_view bytes) const {
    return scratch_.write(name, bytes);
  }

  const ScratchDirectory scratch_;
};

}  // namespace railwave::workload
