// Combine on one rank: partial sums of the node for the rails, final sums for the own tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include <railwave/dtype.hpp>
#include <railwave/phase_report.hpp>

#include "exec/handle_state.hpp"
#include "exec/own_rows.hpp"
#include "exec/phase.hpp"
#include "exec/reduce.hpp"

namespace railwave::exec {

struct CombineContext {
  RankEngine* engine = nullptr;
  const HandleState* handle = nullptr;
  const StepCounts* counts = nullptr;  ///< of the handle's dispatch
  NodeRows* rows = nullptr;
  ChunkShape shape;
  DType dtype = DType::BF16;
  std::int64_t hidden = 0;
};

/// Gives the rank's neighbours the expert rows that they add.
void publish_rows(const CombineContext& context);

/// Sums the rows of each record over the ranks of this node and sends the partial.
class CombineSource : public RecordSource {
 public:
  explicit CombineSource(const CombineContext& context);
  bool ready(const Stream& stream, std::int64_t first, std::int64_t count) override;
  void pack(const Stream& stream, std::int64_t first, std::int64_t count, std::byte* out) override;
  Status readers(const Stream& stream, std::int64_t first, std::int64_t count,
                 const std::byte* chunk, std::vector<std::uint8_t>& locals) override;
  void report(PhaseReport& out) const { out.pack_s += seconds_; }

 private:
  const std::vector<RecordOwner>& owners_of(const Stream& stream);
  [[nodiscard]] const RowRefs& rows_of(const Stream& stream) const;
  CombineContext context_;
  RowSum sum_;
  std::map<const Stream*, std::vector<RecordOwner>> owners_;
  double seconds_ = 0;
};

/// bias0 and bias1 [T, row_bytes], or null.
struct CombineOutput {
  std::byte* out = nullptr;  ///< [T, row_bytes]
  const std::byte* bias0 = nullptr;
  const std::byte* bias1 = nullptr;
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
  void add_own_node(std::size_t token);

  CombineContext context_;
  const Phase& phase_;
  CombineOutput out_;
  std::vector<Part> parts_;           // as HandleState::partials
  std::vector<std::int64_t> there_;   // by inbound stream
  std::vector<std::size_t> waiting_;  // tokens that are not reduced
  RowSum sum_;
  RowSum own_;
  double seconds_ = 0;
};

}  // namespace railwave::exec
