// One dispatch and combine by the conventions of the cases: the row of token (r, i) holds one value
// in all columns, expert e returns (e + 1) times its row, and the weights are applied by the caller
// or, in the expert-major layout, by combine.
#pragma once

#include <cstdint>
#include <vector>

#include "comm/cases/rank.hpp"
#include "group/reference.hpp"

namespace cases {

/// (set) What all ranks put in. Shapes: P ranks, T tokens, K slots.
struct Step {
  int top_k = 1;
  std::vector<float> weights{1};                 ///< [K]
  std::vector<std::vector<std::int64_t>> idx{};  ///< [P][T * K]
  int hidden = 64;
  Variant variant{};
  int alignment = 3;  ///< of the groups, when they are padded
  /// At most 255, which one byte of fp8 holds.
  float (*x)(int rank, int token) = [](int rank, int token) {
    return static_cast<float>(16 * rank + token + 1);
  };
};

/// (computed) What this rank got out.
struct Seen {
  std::int64_t rows = 0;                 ///< without padding
  bool one_a_slot = false;               ///< the rows are those of the expert-major layout
  bool y_is_exact = true;                ///< the sums are those of the cases, in fp32
  std::vector<std::int64_t> per_expert;  ///< of the local experts
  std::int64_t assignments = 0;          ///< (token, slot) pairs whose expert this rank owns
  std::vector<float> y;                  ///< [T], the value of all columns
  railwave::PhaseReport dispatched;
  railwave::PhaseReport combined;
};

reference::Model model_of(const Step& step, const Topology& topology, const Placement& placement);

/// Runs the step between guard bytes with buffers full of NaN and checks it against the
/// definition: every element of every row, every slot, every count, every sum.
void run_step(Rank& rank, Communicator& group, const Placement& placement, const Step& step,
              Path path, Seen& seen);

/// Bytes of a row that travels, its scales included.
std::int64_t row_bytes_of(const Step& step);

std::int64_t sum_of(const std::vector<std::int64_t>& values);

}  // namespace cases
