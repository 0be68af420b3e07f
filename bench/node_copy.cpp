// How a rank gets rows out of another process of its node: by shared memory or by cross-memory
// reads. The figures behind docs/decisions/one_copy_in_a_node.md.
#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/copy.hpp"

namespace {

constexpr std::size_t kRow = 14'336;  // 7,168 bf16
constexpr std::size_t kRows = 16'384;
constexpr std::size_t kBytes = kRow * kRows;  // 224 MiB, more than any cache

std::byte* map(int flags) {
  void* at = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
}

/// Another process with rows in memory of its own and in memory that both share.
class Peer {
 public:
  Peer() : shared_(map(MAP_SHARED)), private_(map(MAP_PRIVATE)) {
    std::memset(shared_, 1, kBytes);
    int ready[2];
    if (::pipe(ready) != 0) std::abort();
    pid_ = ::fork();
    if (pid_ == 0) {
      std::memset(private_, 2, kBytes);  // its own pages, at the same address
      if (::write(ready[1], "", 1) != 1) ::_exit(1);
      ::pause();
      ::_exit(0);
    }
    char byte;
    if (::read(ready[0], &byte, 1) != 1) std::abort();
  }
  ~Peer() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  [[nodiscard]] const std::byte* shared() const { return shared_; }
  [[nodiscard]] std::byte* in_private(std::size_t row) const { return private_ + row * kRow; }
  [[nodiscard]] pid_t pid() const { return pid_; }

 private:
  std::byte* shared_;
  std::byte* private_;
  pid_t pid_ = 0;
};

/// Rows are pulled in the order in which tokens happen to choose experts: any.
std::vector<std::size_t> any_order() {
  std::vector<std::size_t> rows(kRows);
  for (std::size_t i = 0; i < kRows; ++i) rows[i] = i;
  std::shuffle(rows.begin(), rows.end(), std::mt19937(7));
  return rows;
}

struct Pull {
  Peer peer;
  std::vector<std::size_t> order = any_order();
  std::vector<std::byte> out = std::vector<std::byte>(kBytes, std::byte{3});
};

Pull& pull() {
  static Pull all;
  return all;
}

template <class Copy>
void pull_rows(benchmark::State& state, Copy copy) {
  Pull& p = pull();
  for (auto _ : state) {
    for (std::size_t i = 0; i < kRows; ++i) {
      copy(p.out.data() + i * kRow, p.peer.shared() + p.order[i] * kRow, kRow);
    }
    railwave::settle_copies();
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(kBytes) * state.iterations());
}

void shared_memory(benchmark::State& state) {
  pull_rows(state,
            [](std::byte* out, const std::byte* in, std::size_t n) { std::memcpy(out, in, n); });
}

void shared_memory_past_cache(benchmark::State& state) {
  pull_rows(state, railwave::copy_past_cache);
}

/// Rows a call: range(0).
void cross_memory_read(benchmark::State& state) {
  Pull& p = pull();
  const auto batch = static_cast<std::size_t>(state.range(0));
  std::vector<iovec> from(batch);
  for (auto _ : state) {
    for (std::size_t i = 0; i < kRows; i += batch) {
      for (std::size_t k = 0; k < batch; ++k) from[k] = {p.peer.in_private(p.order[i + k]), kRow};
      iovec to{p.out.data() + i * kRow, batch * kRow};
      const ssize_t got = ::process_vm_readv(p.peer.pid(), &to, 1, from.data(), batch, 0);
      if (got != static_cast<ssize_t>(batch * kRow)) {
        state.SkipWithError("process_vm_readv is not allowed here");
        return;
      }
    }
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(kBytes) * state.iterations());
}

BENCHMARK(shared_memory)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(shared_memory_past_cache)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK(cross_memory_read)->Arg(1)->Arg(64)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
