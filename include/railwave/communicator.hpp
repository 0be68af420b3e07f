// The group: dispatch and combine over the node fabric and the rails.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <railwave/dtype.hpp>
#include <railwave/error.hpp>
#include <railwave/ids.hpp>
#include <railwave/path.hpp>
#include <railwave/phase_report.hpp>
#include <railwave/placement.hpp>
#include <railwave/row_layout.hpp>
#include <railwave/shared_buffer.hpp>
#include <railwave/ticket.hpp>
#include <railwave/topology.hpp>

namespace railwave {

namespace exec {
struct HandleState;
}
namespace comm {
class CombineStep;
class DispatchStep;
class Group;
struct Wiring;
}  // namespace comm

/// How long a rank waits before it says who is late.
struct Deadlines {
  std::chrono::milliseconds init{30'000};
  std::chrono::milliseconds first_operation{60'000};
  std::chrono::milliseconds operation{60'000};
};

/// What a group is made for. All ranks must give the same values but for `self`.
struct CommunicatorOptions {
  RankId self;
  std::int64_t max_tokens_per_rank = 0;  ///< T of any rank in any step, >= 0
  /// Rows of recv_x of any rank in any step, padding of groups included, >= 1. Memory is reserved
  /// for them: worst_case_recv_rows() is always enough and rarely needed.
  std::int64_t max_recv_rows = 0;
  std::int64_t max_hidden = 0;       ///< H of any step, >= 1
  DType widest_dtype = DType::BF16;  ///< the widest element type of any step
  int max_top_k = 1;                 ///< K of any step, >= 1
  /// Memory of this rank for Communicator::allocate().
  std::int64_t shared_bytes = 0;
  StartPolicy wave_start = StartPolicy::RailBarrier;   ///< RailBarrier, Grant or Free
  StartPolicy window_start = StartPolicy::Submission;  ///< Submission or Free
  /// RailBarrier, Grant: a receiver says that it has received a window so many bytes early.
  std::int64_t lead_bytes = 0;
  std::int64_t chunk_bytes = 64 << 10;  ///< largest frame payload (one record if that is more)
  int send_slots = 4;                   ///< frames in flight per rail, >= 1
  /// Dispatches and combines of which the bytes may move at once, in 1 .. 16. Each takes a stage
  /// and rows of its own (workspace_size); further ones wait for their turn.
  int phases_in_flight = 1;
  Packing packing = Packing::Pipelined;
  Deadlines deadlines{};
};

/// A finished dispatch, for its combine and to be repeated. Cheap to copy; immutable; any number
/// may be outstanding.
class Handle {
 public:
  Handle() = default;
  [[nodiscard]] bool valid() const { return state_ != nullptr; }
  /// Rows that this rank received, padding of groups included: combine wants as many back.
  [[nodiscard]] std::int64_t rows() const;
  [[nodiscard]] RowLayout layout() const;

 private:
  friend class comm::Group;
  friend class comm::DispatchStep;
  friend class comm::CombineStep;
  std::shared_ptr<const exec::HandleState> state_;
};

struct Received;

/// Input of one dispatch. Borrowed until the call returns.
/// Shapes: T tokens, K slots, H hidden elements.
///
/// With a handle the dispatch of that handle is repeated with other rows: nothing is counted or
/// planned, and every row goes where it went. That is the backward pass of combine. Routing, path,
/// windows, layout and alignment are then the handle's; topk_idx, topk_weights and windows must be
/// empty, and tokens as many as before. The type and the width of rows may differ.
struct DispatchArguments {
  const void* x = nullptr;          ///< [T, H] of dtype
  std::span<const float> scales{};  ///< [T, ceil(H / 128)] with FP8E4M3, else empty
  std::int64_t tokens = 0;
  std::int64_t hidden = 0;
  DType dtype = DType::BF16;
  int top_k = 0;
  std::span<const std::int64_t> topk_idx{};  ///< [T, K], -1: no expert
  std::span<const float> topk_weights{};     ///< [T, K], or empty: all 1
  Path path = Path::Joint;
  Windows windows{};  ///< the caller's windows; empty: one with every pair
  RowLayout layout = RowLayout::RankMajor;
  int expert_alignment = 1;  ///< counts per local expert are rounded up to it; expert-major: groups
  Handle handle{};           ///< repeats its dispatch
  std::span<std::byte> recv_x{};   ///< where rows go, apart from x; empty: the result owns them
  std::span<float> recv_scales{};  ///< where scales go, apart from scales; empty: as recv_x
  /// An earlier result whose memory the new one takes: with it, and recv_x, a step like those
  /// before allocates nothing. What it held, its rows and its handle too, is gone when the call
  /// begins, that of dispatch_async() as well; copy the handle first where it is needed.
  Received* reuse = nullptr;
};

/// Result of one dispatch. Shapes: Nr rows, S = ceil(H / 128) scales.
/// Rank-major: one row per (token, this rank), by (source rank, token). Expert-major: one row per
/// (token, slot), grouped by local expert, by (source rank, token, slot) in a group; each group is
/// padded to the alignment with rows of zeros.
/// Can be moved, not copied: x and scales point into it where the caller gave no buffers.
struct Received {
  Received() = default;
  Received(Received&&) noexcept = default;
  Received& operator=(Received&&) noexcept = default;
  std::int64_t rows = 0;               ///< Nr, padding included
  std::byte* x = nullptr;              ///< [Nr, H], in recv_x or in `storage`
  float* scales = nullptr;             ///< [Nr, S] with FP8E4M3, in recv_scales or `scale_storage`
  std::vector<std::int64_t> topk_idx;  ///< [Nr, K] local expert or -1; expert-major: empty
  std::vector<float> topk_weights;     ///< [Nr, K], 0 where topk_idx is -1; expert-major: [Nr],
                                       ///< 0 in padding
  std::vector<std::int64_t> tokens_per_expert;  ///< [local experts] rounded up to the alignment
  std::vector<std::int64_t> unaligned_tokens_per_expert;  ///< [local experts] (token, slot) pairs
  std::vector<std::int64_t> expert_offsets;  ///< [local experts + 1] first row of each group, and
                                             ///< Nr; rank-major: empty
  Handle handle;
  PhaseReport report;
  std::vector<std::byte> storage;
  std::vector<float> scale_storage;
};

/// Input of one combine. Borrowed until the call returns. It is the backward pass of dispatch, too.
/// In the rank-major layout the caller has applied the weights, in the expert-major layout combine
/// can (`apply_weights`): by the rules of IEEE 754 either way, a row of Inf with weight 0 is NaN. A
/// slot of -1 adds nothing, padding neither. Sums start from +0, so a lone -0 comes out as +0; a
/// NaN comes out as the quiet NaN without payload. All ranks give the same two flags.
struct CombineArguments {
  Handle handle;
  const void* x = nullptr;  ///< [rows, H] of dtype: one row for each received row, padding included
  std::int64_t rows = 0;
  std::int64_t hidden = 0;
  DType dtype = DType::BF16;    ///< BF16, FP16 or FP32
  std::span<std::byte> out{};   ///< [T, H] of dtype, apart from x
  const void* bias0 = nullptr;  ///< [T, H] or null
  const void* bias1 = nullptr;  ///< [T, H] or null
  /// [rows, K], expert-major [rows]; needed by the two flags. Weights of slots that are not this
  /// rank's must be 0, as in Received.
  std::span<const float> topk_weights{};
  bool apply_weights = false;   ///< expert-major: a row counts as fp32(weight) x fp32(row)
  bool return_weights = false;  ///< brings the weights back, summed over ranks for each slot
  std::span<float> out_topk_weights{};  ///< [T, K] with return_weights
  PhaseReport* reuse = nullptr;  ///< an earlier report, gone when the call begins, whose memory the
                                 ///< new one takes
};

/// What a group reserves per rank beyond the caller's buffers, in bytes.
struct WorkspaceSize {
  std::int64_t segment = 0;  ///< in the node fabric (the formula: docs/workspace.md)
  /// Driven rails x send_slots x frame, and all frames of a phase unless packing is Pipelined; 0
  /// with one node.
  std::int64_t send_slots = 0;
};

/// A group of ranks. Every rank takes part in every phase, in the same order, also with no tokens.
/// A phase that fails with a code that ends the group (ends_group) ends it: others under way fail
/// with the same error, later calls at once. Threads: one call at a time; a second thread gets
/// InvalidArgument. A phase with a ticket is moved by a thread of the group, made by the first one.
class Communicator {
 public:
  /// Makes the group from the launcher's variables (torchrun's, Open MPI's, Slurm's) and rails over
  /// UCX. `rail_devices` [R]: the network device of each rail here, empty string where the node has
  /// none. Errors: InvalidArgument; Mismatch naming field and rank; Timeout naming who is late.
  static Result<Communicator> create(const Topology& topology, const Placement& placement,
                                     const CommunicatorOptions& options,
                                     const std::vector<std::string>& rail_devices);
  /// The same over a caller's wiring (tests, other launchers).
  static Result<Communicator> create(const Topology& topology, const Placement& placement,
                                     const CommunicatorOptions& options, comm::Wiring wiring);
  Communicator(Communicator&&) noexcept;
  Communicator& operator=(Communicator&&) noexcept;
  /// Waits for the phases under way, then up to 2 s for the other ranks to leave.
  ~Communicator();

  /// Sends every token to the ranks that own its experts.
  /// Errors: InvalidArgument and CapacityExceeded for own input, PeerRejected for another rank's,
  /// CapacityExceeded on all ranks when one would receive more rows than it has room for,
  /// Mismatch, Timeout, PeerFailed, StaleHandle.
  Result<Received> dispatch(const DispatchArguments& arguments);
  /// Brings the rows back and sums them at their tokens. Returns what it saw.
  Result<PhaseReport> combine(const CombineArguments& arguments);

  /// The same without waiting. Phases begin in the order of the calls, which is the same on every
  /// rank; options.phases_in_flight of them move at once, and on each rail the bytes of an earlier
  /// one go before those of a later one. A call that waits, dispatch() or combine(), takes its turn
  /// behind them. Arguments are copied; what they point to is borrowed until the phase is over.
  /// Errors: InvalidArgument for a second thread, the error that ended the group,
  /// ResourceExhausted; wrong input and everything else come with the ticket's outcome.
  Result<Ticket<Received>> dispatch_async(const DispatchArguments& arguments);
  Result<Ticket<PhaseReport>> combine_async(const CombineArguments& arguments);

  /// A buffer of `bytes` bytes out of options.shared_bytes that the node's ranks read in place:
  /// rows and scales of dispatch and combine that lie in it are copied once, by who wants them. A
  /// call ends when the neighbours have read them; one that fails gives them back at once, and
  /// neighbours that were still reading fail, too (PeerFailed). Errors: ResourceExhausted with need
  /// and have.
  /// Threads: any.
  Result<SharedBuffer> allocate(std::int64_t bytes);

  /// Gathers every rank's bytes over the control network, for measurements between calls.
  Result<std::vector<std::vector<std::byte>>> all_gather(std::span<const std::byte> mine);

  /// Phases that this rank has asked for so far. Threads: any.
  [[nodiscard]] std::uint64_t operations() const;
  [[nodiscard]] WorkspaceSize workspace() const;

 private:
  explicit Communicator(std::unique_ptr<comm::Group> group);
  std::unique_ptr<comm::Group> group_;
};

/// For which steps worst_case_recv_rows() answers.
struct WorstCase {
  std::int64_t tokens_per_rank = 0;
  RowLayout layout = RowLayout::RankMajor;
  int top_k = 1;             ///< counts in the expert-major layout only
  int expert_alignment = 1;  ///< counts in the expert-major layout only
};

/// The most rows that any rank can receive, when all tokens choose its experts: P T, in the
/// expert-major layout P T K and the padding of the rank with the most experts. The same on every
/// rank. Errors: InvalidArgument for negative numbers and products beyond 64 bits.
Result<std::int64_t> worst_case_recv_rows(const Topology& topology, const Placement& placement,
                                          const WorstCase& worst);

/// The size that create() would reserve on options.self, without making a group.
Result<WorkspaceSize> workspace_size(const Topology& topology, const CommunicatorOptions& options);

}  // namespace railwave
