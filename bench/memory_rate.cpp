// How fast this machine copies memory: the measure for what an exchange inside a node can reach.
//
//   build/bin/memory_rate [THREADS] [MiB of each buffer] [ROUNDS]
// Every thread copies a buffer of its own, all at once, by memcpy, round after round; a byte that
// is copied counts once. Prints the median round, bytes of all threads per second.
#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include <fmt/format.h>

namespace {

using Clock = std::chrono::steady_clock;

struct Request {
  int threads = 2;
  std::size_t bytes = std::size_t{256} << 20;
  int rounds = 9;
  std::size_t piece = 0;  ///< bytes; 0: the whole buffer
};

/// Seconds of each round, from the first thread's start to the last one's end.
std::vector<double> copy_rounds(const Request& request) {
  std::vector<Clock::time_point> marks;
  std::barrier all(request.threads, [&]() noexcept { marks.push_back(Clock::now()); });
  marks.reserve(static_cast<std::size_t>(request.rounds) + 2);
  const std::size_t piece = request.piece > 0 ? request.piece : request.bytes;
  std::vector<std::thread> threads;
  for (int t = 0; t < request.threads; ++t) {
    threads.emplace_back([&] {
      const auto from = std::make_unique<char[]>(request.bytes);
      const auto to = std::make_unique<char[]>(request.bytes);
      std::memset(from.get(), 1, request.bytes);
      std::memset(to.get(), 2, request.bytes);
      all.arrive_and_wait();
      for (int round = 0; round < request.rounds; ++round) {
        for (std::size_t at = 0; at < request.bytes; at += piece) {
          std::memcpy(to.get() + at, from.get() + at, std::min(piece, request.bytes - at));
        }
        // Or the compiler may leave out all copies but the last.
        asm volatile("" : : "r"(to.get()) : "memory");
        all.arrive_and_wait();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::vector<double> out;
  for (std::size_t i = 1; i < marks.size(); ++i) {
    out.push_back(std::chrono::duration<double>(marks[i] - marks[i - 1]).count());
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  Request request;
  request.threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  if (argc > 1) request.threads = std::max(1, std::atoi(argv[1]));
  if (argc > 2) request.bytes = static_cast<std::size_t>(std::max(1, std::atoi(argv[2]))) << 20;
  if (argc > 3) request.rounds = std::max(1, std::atoi(argv[3]));
  if (argc > 4) request.piece = static_cast<std::size_t>(std::max(0, std::atoi(argv[4]))) << 10;
  std::vector<double> seconds = copy_rounds(request);
  std::ranges::sort(seconds);
  const double median = seconds[(seconds.size() - 1) / 2];
  const double bytes = static_cast<double>(request.bytes) * request.threads;
  fmt::print("# memcpy of {} MiB{} by each of {} threads, {} rounds; a byte copied counts once\n",
             request.bytes >> 20,
             request.piece > 0 ? fmt::format(" in pieces of {} KiB", request.piece >> 10) : "",
             request.threads, request.rounds);
  fmt::print("# GB/s: median, least, most\n{:.3f} {:.3f} {:.3f}\n", bytes / median / 1e9,
             bytes / seconds.back() / 1e9, bytes / seconds.front() / 1e9);
  return 0;
}
