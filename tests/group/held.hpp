// What a process holds: memory, descriptors, threads. For tests that nothing of it grows.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <malloc.h>

namespace held {

/// Sizes in bytes.
struct Held {
  std::int64_t heap = 0;       ///< what malloc has given out, to the byte with tcache_count=0
  std::int64_t anonymous = 0;  ///< resident pages that are nobody else's: heap, stacks, UCX's pools
  std::int64_t mapped = 0;     ///< shared mappings, resident or not: the segments of the node
  std::int64_t shared = 0;     ///< their resident pages: at most `mapped`, so never to be limited
  std::int64_t descriptors = 0;
  std::int64_t threads = 0;
};

inline std::int64_t entries(const char* folder) {
  const std::filesystem::directory_iterator all(folder);
  return std::distance(begin(all), end(all));
}

/// Length of all mappings that other processes may have, too.
inline std::int64_t mapped_bytes() {
  std::int64_t sum = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long long begin = 0;
    unsigned long long end = 0;
    char mode[5] = "";
    if (std::sscanf(line.c_str(), "%llx-%llx %4s", &begin, &end, mode) == 3 && mode[3] == 's') {
      sum += static_cast<std::int64_t>(end - begin);
    }
  }
  return sum;
}

/// Of this process now.
inline Held now() {
  const struct mallinfo2 heap = ::mallinfo2();
  Held held;
  held.heap = static_cast<std::int64_t>(heap.uordblks + heap.hblkhd);
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == "RssAnon:") status >> held.anonymous;
    if (word == "RssShmem:") status >> held.shared;
  }
  held.mapped = mapped_bytes();
  held.anonymous *= 1024;
  held.shared *= 1024;
  held.descriptors = entries("/proc/self/fd");
  held.threads = entries("/proc/self/task");
  return held;
}

/// One thing that must not grow, and by how much it may all the same.
struct Limit {
  const char* name;
  std::int64_t Held::*of;
  std::int64_t slack;
};

/// What grew from the earlier to the later third of the samples: the least of the later ones over
/// the most of the earlier ones, so that no peak counts as growth. A sentence, or nothing.
/// REQUIRES: three samples at least.
inline std::optional<std::string> grown(const std::vector<Held>& samples, const Limit& limit) {
  const auto third = static_cast<std::ptrdiff_t>(samples.size() / 3);
  const auto less = [&](const Held& a, const Held& b) { return a.*limit.of < b.*limit.of; };
  const auto before = *std::max_element(samples.begin(), samples.begin() + third, less);
  const auto after = *std::min_element(samples.end() - third, samples.end(), less);
  if (after.*limit.of - before.*limit.of <= limit.slack) return std::nullopt;
  return fmt::format("{} grew from {} to {}, {} allowed", limit.name, before.*limit.of,
                     after.*limit.of, limit.slack);
}

}  // namespace held
