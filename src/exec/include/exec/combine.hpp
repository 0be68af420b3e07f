// Combine on one rank: partial sums of the node for the rails, final sums for the own tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory_resource>
#include <span>
#include <vector>

#include <railwave/dtype.hpp>
#include <railwave/phase_report.hpp>

#include "base/memory.hpp"
#include "exec/handle_state.hpp"
#include "exec/own_rows.hpp"
#include "exec/phase.hpp"
#include "exec/reduce.hpp"
#include "exec/weight_sum.hpp"

namespace railwave::exec {

struct CombineContext {
  RankEngine* engine = nullptr;
  const HandleState* handle = nullptr;
  const StepCounts* counts = nullptr;  ///< of the handle's dispatch
  NodeRows* rows = nullptr;
  ChunkShape shape;
  DType dtype = DType::BF16;
  std::int64_t hidden = 0;
  bool apply_weights = false;   ///< rows count times their weights; expert-major only
  bool return_weights = false;  ///< weights travel back, in the place of metas
  Memory* memory = std::pmr::get_default_resource();  ///< of the step
};

/// Gives the rank's neighbours the expert rows that they add, with their weights if these count.
void publish_rows(const CombineContext& context);

/// Sums the rows of one record or token on this node: one fp32 sum over (rank ascending, slot
/// ascending). Threads: belongs to one thread; the scratch is reused.
class NodeSum {
 public:
  explicit NodeSum(const CombineContext& context)
      : context_(context),
        sum_(context.dtype, context.hidden, context.memory),
        weights_(context.handle->top_k, context.memory),
        rows_(context.memory),
        row_weights_(context.memory) {}
  /// Starts anew with rows `index` of `rows`.
  void take(const RowRefs& rows, std::size_t index);
  [[nodiscard]] const RowSum& sum() const { return sum_; }
  [[nodiscard]] const WeightSum& weights() const { return weights_; }

 private:
  void take_weights(std::span<const RowRef> refs);

  CombineContext context_;
  RowSum sum_;
  WeightSum weights_;
  std::pmr::vector<const std::byte*> rows_;  // of the sum at hand
  std::pmr::vector<float> row_weights_;
};

/// Sums the rows of each record over the ranks of this node and sends the partial.
class CombineSource : public RecordSource {
 public:
  explicit CombineSource(const CombineContext& context);
  bool ready(const Stream& stream, std::int64_t first, std::int64_t count) override;
  Status pack(const Stream& stream, std::int64_t first, std::int64_t count,
              std::byte* out) override;
  Status readers(const Stream& stream, std::int64_t first, std::int64_t count,
                 const std::byte* chunk, std::span<std::uint8_t> locals) override;
  void report(PhaseReport& out) const { out.pack_s += seconds_; }

 private:
  std::span<const RecordOwner> owners_of(const Stream& stream);
  [[nodiscard]] const RowRefs& rows_of(const Stream& stream) const;
  CombineContext context_;
  NodeSum partial_;
  std::pmr::map<const Stream*, std::pmr::vector<RecordOwner>> owners_;
  double seconds_ = 0;
};

/// bias0 and bias1 [T, row_bytes], or null.
struct CombineOutput {
  std::byte* out = nullptr;  ///< [T, row_bytes]
  const std::byte* bias0 = nullptr;
  const std::byte* bias1 = nullptr;
  float* weights = nullptr;  ///< [T, K] if weights are returned
};

/// Adds each token's partials, nodes ascending, as soon as all of them are there.
class CombineReader {
 public:
  CombineReader(const CombineContext& context, const Phase& phase, const CombineOutput& out);
  /// Reduces what is there; true when every token is done.
  bool read();
  [[nodiscard]] double seconds() const { return seconds_; }

 private:
  struct Part {
    std::size_t stream;  // index among the phase's inbound streams
    std::int64_t position;
    NodeId node;
  };
  void find_parts();
  [[nodiscard]] bool ready(std::size_t token) const;
  void reduce(std::size_t token);
  [[nodiscard]] bool is_of_own_node_alone(std::size_t token) const;
  void reduce_own_node(std::size_t token, std::byte* out);
  void store_weights(std::size_t token);
  void add_part(const Part& part);
  void add_own_node(std::size_t token);

  CombineContext context_;
  const Phase& phase_;
  CombineOutput out_;
  std::pmr::vector<Part> parts_;           // as HandleState::partials
  std::pmr::vector<std::int64_t> there_;   // by inbound stream
  std::pmr::vector<std::size_t> waiting_;  // tokens that are not reduced
  RowSum sum_;
  WeightSum weights_;
  NodeSum own_;
  double seconds_ = 0;
};

}  // namespace railwave::exec
