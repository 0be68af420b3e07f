// The execution paths, ours and others', and the windows in which node pairs may send.
#pragma once

#include <array>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <string_view>
#include <vector>

#include <railwave/ids.hpp>

namespace railwave {

/// How a phase is executed (paper section 3), and how others execute it (baselines).
///   Native           home rails, the caller's windows
///   RailOnly         RailBalance, the caller's windows
///   PermutationOnly  home rails, permutation waves
///   Joint            RailBalance within permutation waves
///   Birkhoff         RailBalance, Birkhoff stages of the node demand (FAST): plan/birkhoff.hpp
///   Linear           home rails, every pair at once, whatever windows the caller submits
///   Pairwise         home rails, rounds in which nodes exchange in pairs: plan/pairwise.hpp
///   Spray            the source's traffic over rails, longest first (RailS), the caller's windows:
///                    plan/spray.hpp
enum class Path : std::uint8_t {
  Native = 0,
  RailOnly = 1,
  PermutationOnly = 2,
  Joint = 3,
  Birkhoff = 4,
  Linear = 5,
  Pairwise = 6,
  Spray = 7
};

/// The paths that are chosen from.
constexpr std::array<Path, 4> kAllPaths{Path::Native, Path::RailOnly, Path::PermutationOnly,
                                        Path::Joint};
/// The planners of others, to compare with.
constexpr std::array<Path, 4> kBaselinePaths{Path::Birkhoff, Path::Linear, Path::Pairwise,
                                             Path::Spray};

/// Every slice is spread over its eligible rails by RailBalance.
constexpr bool balances(Path path) {
  return path == Path::RailOnly || path == Path::Joint || path == Path::Birkhoff;
}
/// The windows are the permutation waves; a wave's start is a policy of its own. On every other
/// path the windows start as submissions do (StartPolicy::Submission) unless told otherwise.
constexpr bool uses_waves(Path path) {
  return path == Path::PermutationOnly || path == Path::Joint;
}
/// The windows are the caller's.
constexpr bool uses_submitted_windows(Path path) {
  return path == Path::Native || path == Path::RailOnly || path == Path::Spray;
}

/// "native", "rail_only", "permutation_only", "joint", "birkhoff", "linear", "pairwise", "spray".
constexpr std::string_view to_string(Path path) {
  constexpr std::array<std::string_view, 8> kNames{"native",   "rail_only", "permutation_only",
                                                   "joint",    "birkhoff",  "linear",
                                                   "pairwise", "spray"};
  return kNames[static_cast<std::size_t>(path)];
}

constexpr std::optional<Path> path_from_string(std::string_view name) {
  for (const auto& paths : {kAllPaths, kBaselinePaths}) {
    for (const Path path : paths) {
      if (to_string(path) == name) return path;
    }
  }
  return std::nullopt;
}

/// A set of node pairs that may send at the same time, in the order in which they were given.
using Window = std::pmr::vector<NodePair>;
/// Windows in the order in which they run.
using Windows = std::pmr::vector<Window>;

/// Who may start a window (DESIGN 5.3).
///   Submission   all paths but waves: a window starts when all nodes have finished the one before
///   Free         every window at once (what a run without separate submissions would do)
///   RailBarrier  per rail: all nodes with bytes on the rail have received the window before
///   Grant        per rail: a receiver grants its senders when its own window before is received,
///                or a lead of bytes earlier
enum class StartPolicy : std::uint8_t { Submission = 0, Free = 1, RailBarrier = 2, Grant = 3 };

constexpr std::string_view to_string(StartPolicy policy) {
  constexpr std::array<std::string_view, 4> kNames{"barrier", "free", "rail-barrier", "grant"};
  return kNames[static_cast<std::size_t>(policy)];
}

/// When the records that a rank sends are packed into frames (paper, appendix A.4).
///   Pipelined   chunk by chunk, while the chunks before are on their way
///   Sequential  a window's when it may start, before its first frame is sent
///   Prepacked   a phase's before its first window starts
/// Pipelined takes the least time and memory; the others are there to be compared with.
enum class Packing : std::uint8_t { Pipelined = 0, Sequential = 1, Prepacked = 2 };

/// "pipelined", "sequential", "prepacked".
constexpr std::string_view to_string(Packing packing) {
  constexpr std::array<std::string_view, 3> kNames{"pipelined", "sequential", "prepacked"};
  return kNames[static_cast<std::size_t>(packing)];
}

}  // namespace railwave
