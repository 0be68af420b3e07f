// What a case gets on each rank, alike over loopback and over the emulated cluster.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <railwave/railwave.hpp>

namespace cases {

using railwave::Communicator;
using railwave::CommunicatorOptions;
using railwave::DType;
using railwave::ErrorCode;
using railwave::NodeId;
using railwave::Path;
using railwave::Placement;
using railwave::RailId;
using railwave::RankId;
using railwave::Result;
using railwave::RowLayout;
using railwave::Topology;

/// One rank of a running case. Threads: belongs to the rank's.
struct Rank {
  RankId self;
  Topology topology;
  /// (set) Makes a group of all ranks; every rank calls it as often as the others.
  std::function<Result<Communicator>(const Placement&, const CommunicatorOptions&)> make;
  std::function<void()> pause;                      ///< (set) called before each call of a group
  std::function<void(const std::string&)> doing;    ///< (set) for the watchdog's dump
  std::array<Path, 4> paths = railwave::kAllPaths;  ///< (set) in which order a case takes them
  std::uint64_t bits = 0;  ///< (computed) a hash of what came out, the same on every path
};

/// Nodes and rails of a case; everything else by default.
struct Shape {
  std::vector<int> ranks_per_node;
  int rails = 1;
  std::vector<std::vector<bool>> live{};  ///< [N][R], empty: all
  [[nodiscard]] Topology topology() const {
    return *Topology::create({ranks_per_node, rails, {}, live, {}});
  }
  [[nodiscard]] std::string name() const;  ///< "2_2_rails4"
};

/// A case with right answers. The body uses GoogleTest's assertions.
struct Case {
  std::string name;
  std::vector<Shape> shapes;
  void (*body)(Rank&);
};

/// For GoogleTest's messages.
inline void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

const std::vector<Case>& all_cases();
/// REQUIRES: there is one of this name.
const Case& case_named(std::string_view name);

/// A hash over values in the order in which they are added.
class Bits {
 public:
  void add(std::span<const std::byte> bytes);
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0;
};

/// How rows travel: their types there and back, and their layout.
struct Variant {
  DType sent = DType::FP32;
  RowLayout layout = RowLayout::RankMajor;
  /// Sums are of no fp8.
  [[nodiscard]] DType returned() const { return sent == DType::FP8E4M3 ? DType::BF16 : sent; }
  [[nodiscard]] bool plain() const { return sent == DType::FP32 && layout == RowLayout::RankMajor; }
  [[nodiscard]] std::string name() const;  ///< "fp16 expert-major"
};

/// Runs `body` on each path with each type and layout; what it hashes must be the same on all
/// paths.
void on_all_variants(Rank& rank, const std::function<void(Path, const Variant&, Bits&)>& body);

/// Runs `body` on each path in the rank's order; what it hashes must be the same on all.
void on_all_paths(Rank& rank, const std::function<void(Path, Bits&)>& body);

/// Options with deadlines that suit a test. Shapes: T tokens, H hidden elements, K slots.
CommunicatorOptions options_for(const Rank& rank, std::int64_t tokens, std::int64_t hidden,
                                DType dtype, int top_k);

}  // namespace cases
