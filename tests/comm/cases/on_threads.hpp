// Runs a case with its ranks as threads of this process, over loopback rails.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "comm/cases/rank.hpp"
#include "transport/fault_rail.hpp"

namespace cases {

/// Which run of a case: seeds the order of paths and the delays. 0: neither.
struct Run {
  int number = 0;
  std::chrono::seconds limit{60};
  /// Puts something around a rank's rails, if set.
  std::function<std::unique_ptr<railwave::transport::Rail>(
      RankId, std::unique_ptr<railwave::transport::Rail>)>
      wrap{};
};

/// The paths in the order of this run, the same on every rank.
std::array<Path, 4> paths_of(int run);

/// Every rank's bits [P]. Failures are GoogleTest's.
std::vector<std::uint64_t> run_on_threads(const Case& one, const Topology& topology,
                                          const Run& run = {});

}  // namespace cases
