// Ranks as threads of the test.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace railwave::comm {

using std::chrono::milliseconds;
using std::chrono::seconds;

using Bytes = std::vector<std::byte>;

/// Runs `body(rank)` in a thread per rank.
inline void in_threads(int ranks, const std::function<void(std::size_t)>& body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&body, rank] { body(static_cast<std::size_t>(rank)); });
  }
  for (auto& thread : threads) thread.join();
}

}  // namespace railwave::comm
