// A routing trace: which experts each token chose, layer by layer, or only how many tokens did.
#pragma once

#include <cstdint>
#include <vector>

#include <railwave/error.hpp>

namespace railwave::workload {

/// An immutable routing trace. It holds per-token expert ids [L, T, K], two bytes each, or counts
/// of (token, slot) pairs per source and expert [L, S, E], where S = 1 when the sources are
/// unknown. Threads: may be shared freely.
class Trace {
 public:
  /// How an id slot without expert (-1) is held.
  static constexpr std::uint16_t kNoExpert = 0xffff;
  /// The most experts that two bytes an id can tell apart.
  static constexpr int kMaxExperts = 0xffff;

  struct IdShape {
    int layers = 0;           ///< L >= 1
    std::int64_t tokens = 0;  ///< T >= 0, the same in every layer
    int top_k = 0;            ///< K in 1..E
    int experts = 0;          ///< E in 1..kMaxExperts; 0: the largest id + 1
  };
  struct CountShape {
    int layers = 0;   ///< L >= 1
    int sources = 1;  ///< S >= 1
    int experts = 0;  ///< E in 1..kMaxExperts
  };

  /// `ids` [L, T, K] row-major. Errors: InvalidArgument naming the shape's field, or expert_id with
  /// layer, token, slot and value for an id >= E.
  static Result<Trace> from_ids(const IdShape& shape, std::vector<std::uint16_t> ids);
  /// `counts` [L, S, E] row-major. Errors: InvalidArgument naming the shape's field, or counts with
  /// layer, source, expert and value for a negative one; also when a layer's sum leaves 64 bits.
  static Result<Trace> from_counts(const CountShape& shape, std::vector<std::int64_t> counts);

  [[nodiscard]] bool has_ids() const { return top_k_ > 0; }
  [[nodiscard]] int layers() const { return layers_; }
  [[nodiscard]] int experts() const { return experts_; }
  [[nodiscard]] std::int64_t tokens() const { return tokens_; }  ///< T; 0 without ids
  [[nodiscard]] int top_k() const { return top_k_; }             ///< K; 0 without ids
  [[nodiscard]] int sources() const { return sources_; }         ///< S; 1 with ids

  /// The expert in a slot, -1 for none. REQUIRES: has_ids(), indices in range.
  [[nodiscard]] std::int64_t id(int layer, std::int64_t token, int slot) const;
  /// [E] (token, slot) pairs per expert of the layer, over all sources.
  [[nodiscard]] std::vector<std::int64_t> expert_counts(int layer) const;
  /// [S, E] the same per source; with ids S = 1.
  [[nodiscard]] std::vector<std::int64_t> source_counts(int layer) const;

 private:
  Trace() = default;
  int layers_ = 0;
  int experts_ = 0;
  std::int64_t tokens_ = 0;
  int top_k_ = 0;
  int sources_ = 1;
  std::vector<std::uint16_t> ids_;    // [L, T, K]
  std::vector<std::int64_t> counts_;  // [L, S, E]
};

}  // namespace railwave::workload
