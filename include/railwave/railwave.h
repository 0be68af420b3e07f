// RailWave's C interface: dispatch and combine of Mixture-of-Experts rows. C11, or C++.
//
// Results.  Every call that can fail returns a railwave_result, 0 for success, and leaves what went
//           wrong in railwave_last_error() of the calling thread. Nothing throws.
// Objects.  Opaque. What a call hands out through `out` belongs to the caller, who destroys it; to
//           destroy NULL does nothing. After a failure *out is NULL.
// Structs.  The caller sets `size` to sizeof of the struct, and zero or NULL means the default
//           everywhere, so a struct is best made by { .size = sizeof config, ... }. Structs grow at
//           their ends: of a shorter one the rest takes its defaults, of a longer one the unknown
//           rest must be zero, else InvalidArgument.
// Threads.  Topologies, placements and handles may be shared freely. A group takes one call at a
//           time. A received object and a ticket belong to one thread at a time.
//
// Shape letters: T tokens of this rank, K slots (top-k) of a token, E experts, H hidden elements,
// P ranks, N nodes, R rails, Nr received rows, S = ceil(H / 128) scales of a row. Arrays are dense,
// the last index runs fastest.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define RAILWAVE_VERSION_MAJOR 0
#define RAILWAVE_VERSION_MINOR 1
#define RAILWAVE_VERSION_PATCH 0
/// 10000 major + 100 minor + patch.
#define RAILWAVE_VERSION_NUMBER \
  (10000 * RAILWAVE_VERSION_MAJOR + 100 * RAILWAVE_VERSION_MINOR + RAILWAVE_VERSION_PATCH)

#ifdef __cplusplus
extern "C" {
#endif

/// The version of the library that runs, for example "0.1.0".
const char* railwave_version(void);
/// The same as RAILWAVE_VERSION_NUMBER of the library that runs.
int32_t railwave_version_number(void);

// ---- Results ----------------------------------------------------------------------------------

/// What kind of failure it was. The numbers are stable.
typedef enum railwave_result {
  RAILWAVE_SUCCESS = 0,
  RAILWAVE_INVALID_ARGUMENT = 1,
  RAILWAVE_UNSUPPORTED = 2,
  RAILWAVE_MISMATCH = 3,
  RAILWAVE_PEER_REJECTED = 4,
  RAILWAVE_CAPACITY_EXCEEDED = 5,
  RAILWAVE_TIMEOUT = 6,
  RAILWAVE_PEER_FAILED = 7,
  RAILWAVE_LINK_DOWN = 8,
  RAILWAVE_INTEGRITY_ERROR = 9,
  RAILWAVE_RESOURCE_EXHAUSTED = 10,
  RAILWAVE_STALE_HANDLE = 11,
  RAILWAVE_PROTOCOL_VIOLATION = 12,
  RAILWAVE_CANCELLED = 13,
  RAILWAVE_INTERNAL = 14
} railwave_result;

/// One failure: which kind, whose fault, which field, and one sentence that says what to do.
typedef struct railwave_error {
  size_t size;           ///< of what this library fills; read no further
  railwave_result code;  ///< RAILWAVE_SUCCESS before the thread's first failure
  int32_t rank;          ///< the rank at fault, -1 when no single rank is
  const char* field;     ///< the argument, setting or operation at fault, for example "expert_id"
  const char* message;   ///< one sentence, with the offending value
  const char* sentence;  ///< all of it: "InvalidArgument{rank 2, expert_id}: message"
  int64_t need;          ///< CapacityExceeded, ResourceExhausted: what was needed, else -1
  int64_t have;          ///< CapacityExceeded, ResourceExhausted: what there was, else -1
} railwave_error;

/// The last failure of a railwave call on this thread; a success leaves it as it was. Never NULL.
/// Valid until the thread's next failure or its end.
const railwave_error* railwave_last_error(void);
/// "InvalidArgument" for RAILWAVE_INVALID_ARGUMENT, and so on; "UnknownErrorCode" for no result.
const char* railwave_result_name(railwave_result result);
/// 1 for the results after which a group accepts no further call, else 0.
int32_t railwave_ends_group(railwave_result result);

// ---- The cluster ------------------------------------------------------------------------------

/// The shape of a cluster: nodes, ranks, rails. Immutable. Ranks are numbered node by node.
typedef struct railwave_topology railwave_topology;

typedef struct railwave_topology_config {
  size_t size;
  int32_t nodes;                  ///< N >= 1
  int32_t rails;                  ///< R >= 1
  const int32_t* ranks_per_node;  ///< [N], each >= 1
  const int32_t* home_rail;       ///< [P] the rail on which each rank's own traffic leaves; NULL:
                                  ///< floor(local rank * R / ranks of the node)
  const uint8_t* live;            ///< [N, R] not 0 where the rail is up; NULL: all are
  const int32_t* ingress;  ///< [N, N, R] egress rail at s -> ingress rail at d, read for s < d
                           ///< only; NULL: the identity
  const int64_t* weights;  ///< [N, R] how fast each rail is, > 0, for example in bytes/s;
                           ///< NULL: all alike
} railwave_topology_config;

/// N nodes of G ranks each with R rails, everything by default.
/// Errors: InvalidArgument.
railwave_result railwave_topology_uniform(int32_t nodes, int32_t ranks_per_node, int32_t rails,
                                          railwave_topology** out);
/// Errors: InvalidArgument naming the field; LinkDown when some pair of nodes has no rail in
/// common; ResourceExhausted.
railwave_result railwave_topology_create(const railwave_topology_config* config,
                                         railwave_topology** out);
/// P; 0 for NULL.
int32_t railwave_topology_ranks(const railwave_topology* topology);
void railwave_topology_destroy(railwave_topology* topology);

/// Which rank owns which expert. Immutable.
typedef struct railwave_placement railwave_placement;

/// Contiguous: the first E mod P ranks own one expert more.
/// Errors: InvalidArgument; ResourceExhausted.
railwave_result railwave_placement_contiguous(int32_t experts, int32_t ranks,
                                              railwave_placement** out);
/// Any map: `owner` [E] is the rank of each expert, in [0, ranks).
/// Errors: InvalidArgument; ResourceExhausted.
railwave_result railwave_placement_from_owners(const int32_t* owner, int32_t experts, int32_t ranks,
                                               railwave_placement** out);
/// With replicas: the experts here, and those that topk_idx names, are physical ones, copies of
/// weights on a rank; `logical` [E] in 0 .. L - 1 is the model's expert of which each is a copy.
/// Every logical one has at least one copy. Errors: InvalidArgument; ResourceExhausted.
railwave_result railwave_placement_replicated(const int32_t* owner, const int32_t* logical,
                                              int32_t experts, int32_t ranks,
                                              railwave_placement** out);
void railwave_placement_destroy(railwave_placement* placement);

// ---- The group --------------------------------------------------------------------------------

/// Element type of rows, little-endian.
typedef enum railwave_dtype {
  RAILWAVE_DTYPE_DEFAULT = 0,  ///< bf16
  RAILWAVE_BF16 = 1,
  RAILWAVE_FP32 = 2,
  RAILWAVE_FP16 = 3,
  RAILWAVE_FP8_E4M3 = 4  ///< with one float32 scale for each 128 elements of a row; dispatch only
} railwave_dtype;

/// Who may start a window.
typedef enum railwave_start {
  RAILWAVE_START_DEFAULT = 0,
  RAILWAVE_START_SUBMISSION = 1,    ///< when all nodes have finished the window before
  RAILWAVE_START_FREE = 2,          ///< at once
  RAILWAVE_START_RAIL_BARRIER = 3,  ///< per rail, when all its nodes have received the one before
  RAILWAVE_START_GRANT = 4          ///< per rail, when the receiver grants it
} railwave_start;

/// When records are packed into frames. Pipelined takes the least time and memory; the others are
/// there to be compared with.
typedef enum railwave_packing {
  RAILWAVE_PACKING_DEFAULT = 0,     ///< pipelined
  RAILWAVE_PACKING_PIPELINED = 1,   ///< chunk by chunk, while the chunks before are on their way
  RAILWAVE_PACKING_SEQUENTIAL = 2,  ///< a window's when it may start
  RAILWAVE_PACKING_PREPACKED = 3    ///< a phase's before its first window starts
} railwave_packing;

/// A group of ranks. Every rank takes part in every step, in the same order, also with no tokens.
typedef struct railwave_group railwave_group;

/// What a group is made for. All ranks give the same values but for `rank` and `rail_devices`.
/// Memory is reserved for the sizes given here (railwave_workspace_size) and not later.
typedef struct railwave_group_config {
  size_t size;
  int32_t rank;                     ///< this process's, in [0, P)
  int32_t max_top_k;                ///< K of any step; 0: 1
  int64_t max_tokens_per_rank;      ///< T of any rank in any step, >= 0
  int64_t max_recv_rows;            ///< Nr of any rank in any step, padding included, >= 1:
                                    ///< railwave_worst_case_recv_rows() is always enough
  int64_t max_hidden;               ///< H of any step, >= 1
  int64_t shared_bytes;             ///< memory of this rank for railwave_buffer_allocate()
  int32_t widest_dtype;             ///< railwave_dtype: the widest of any step
  int32_t send_slots;               ///< frames in flight per rail; 0: 4
  int32_t wave_start;               ///< railwave_start, not Submission; default: RailBarrier
  int32_t window_start;             ///< railwave_start: Submission or Free; default: Submission
  int64_t lead_bytes;               ///< a receiver says so many bytes early that it has a window
  int64_t chunk_bytes;              ///< largest frame payload; 0: 65,536
  int64_t init_ms;                  ///< how long ranks wait to meet, in ms; 0: 30,000
  int64_t first_operation_ms;       ///< how long the first step may take; 0: 60,000
  int64_t operation_ms;             ///< how long every later step may take; 0: 60,000
  const char* const* rail_devices;  ///< [R] this node's network device of each rail, NULL or ""
                                    ///< where it has none; NULL: none at all (one node)
  int32_t phases_in_flight;  ///< dispatches and combines of which the bytes may move at once,
                             ///< each with memory of its own; 0: 1
  int32_t packing;           ///< railwave_packing
} railwave_group_config;

/// What a group reserves on a rank beyond the caller's buffers, in bytes (docs/workspace.md).
typedef struct railwave_workspace {
  size_t size;         ///< (set)
  int64_t segment;     ///< (computed) in the memory that the ranks of a node share
  int64_t send_slots;  ///< (computed) private; 0 with one node
} railwave_workspace;

/// For which steps railwave_worst_case_recv_rows() answers.
typedef struct railwave_worst_case {
  size_t size;
  int64_t tokens_per_rank;
  int64_t expert_alignment;  ///< 0: 1; counts in the expert-major layout only
  int32_t layout;            ///< railwave_layout
  int32_t top_k;             ///< 0: 1; counts in the expert-major layout only
} railwave_worst_case;

/// The most rows that any rank can receive, when all tokens choose its experts: P T, expert-major
/// P T K and the padding. The same on every rank. Errors: InvalidArgument.
railwave_result railwave_worst_case_recv_rows(const railwave_topology* topology,
                                              const railwave_placement* placement,
                                              const railwave_worst_case* worst, int64_t* rows);
/// What railwave_group_create() would reserve on `config->rank`, without making a group.
/// Errors: InvalidArgument naming the field.
railwave_result railwave_workspace_size(const railwave_topology* topology,
                                        const railwave_group_config* config,
                                        railwave_workspace* workspace);
/// Meets the other ranks and makes the group. Who this process is comes from the launcher's
/// variables (torchrun's RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT,
/// else Open MPI's, PMI's or Slurm's). A rank with a wrong number in its config meets the others
/// all the same, who get PeerRejected. Errors: InvalidArgument; Mismatch naming field and rank;
/// PeerRejected; ResourceExhausted; Timeout naming who is late; PeerFailed.
railwave_result railwave_group_create(const railwave_topology* topology,
                                      const railwave_placement* placement,
                                      const railwave_group_config* config, railwave_group** out);
/// Waits up to 2 s for the other ranks to leave, then goes. Handles and received objects may live
/// longer; they fit no other group.
void railwave_group_destroy(railwave_group* group);

/// Memory of a rank that its node's ranks read in place, 64-byte aligned. Belongs to one thread.
typedef struct railwave_buffer railwave_buffer;

/// `bytes` out of the group's shared_bytes. Rows and scales of dispatch and combine that lie in it
/// are copied once, by who wants them, others once more.
/// Errors: InvalidArgument; ResourceExhausted with need and have.
railwave_result railwave_buffer_allocate(railwave_group* group, int64_t bytes,
                                         railwave_buffer** out);
/// Where it begins; NULL for NULL.
void* railwave_buffer_bytes(const railwave_buffer* buffer);
/// To be called before the group is destroyed: the memory is the group's.
void railwave_buffer_destroy(railwave_buffer* buffer);

// ---- Dispatch ---------------------------------------------------------------------------------

/// How a phase is executed.
typedef enum railwave_path {
  RAILWAVE_PATH_DEFAULT = 0,           ///< joint
  RAILWAVE_PATH_NATIVE = 1,            ///< home rails, the caller's windows
  RAILWAVE_PATH_RAIL_ONLY = 2,         ///< balanced rails, the caller's windows
  RAILWAVE_PATH_PERMUTATION_ONLY = 3,  ///< home rails, permutation waves
  RAILWAVE_PATH_JOINT = 4              ///< balanced rails, permutation waves
} railwave_path;

/// How received rows lie.
typedef enum railwave_layout {
  RAILWAVE_RANK_MAJOR = 0,   ///< one row per (token, this rank), by (source rank, token)
  RAILWAVE_EXPERT_MAJOR = 1  ///< one row per (token, slot), grouped by local expert, by (source
                             ///< rank, token, slot) in a group; groups are padded with zero rows
} railwave_layout;

/// An ordered pair of different nodes.
typedef struct railwave_node_pair {
  int32_t source;
  int32_t destination;
} railwave_node_pair;

/// Node pairs that may send at the same time.
typedef struct railwave_window {
  const railwave_node_pair* pairs;  ///< [count]
  int64_t count;
} railwave_window;

/// A finished dispatch, for its combine and to be repeated. Immutable; any number may be
/// outstanding.
typedef struct railwave_handle railwave_handle;

/// Input of one dispatch. Borrowed until the call returns.
///
/// With a handle the dispatch of that handle is repeated with other rows (the backward pass of
/// combine): nothing is counted or planned, every row goes where it went. Routing, path, windows,
/// layout and alignment are then the handle's: topk_idx, topk_weights and windows must be NULL, and
/// tokens as many as before.
typedef struct railwave_dispatch_config {
  size_t size;
  const void* x;                   ///< [T, H] of dtype
  const float* scales;             ///< [T, S] with fp8_e4m3, else NULL
  int64_t tokens;                  ///< T
  int64_t hidden;                  ///< H
  int32_t dtype;                   ///< railwave_dtype
  int32_t top_k;                   ///< K
  const int64_t* topk_idx;         ///< [T, K] experts, -1: none
  const float* topk_weights;       ///< [T, K]; NULL: all 1
  int32_t path;                    ///< railwave_path
  int32_t layout;                  ///< railwave_layout
  int64_t expert_alignment;        ///< counts per local expert are rounded up to it; 0: 1
  const railwave_window* windows;  ///< [window_count] for native and rail_only; NULL: all pairs at
                                   ///< once
  int64_t window_count;
  const railwave_handle* handle;  ///< repeats its dispatch; NULL: a dispatch of its own
  void* recv_x;                   ///< where rows go, apart from x; NULL: the result owns them
  int64_t recv_x_bytes;           ///< bytes at recv_x
  float* recv_scales;         ///< where scales go, apart from scales; NULL: the result owns them
  int64_t recv_scales_count;  ///< floats at recv_scales
} railwave_dispatch_config;

/// What one dispatch brought. Owns its arrays but those that the caller gave as recv_x,
/// recv_scales.
typedef struct railwave_received railwave_received;

/// Sends every token to the ranks that own its experts. A wrong argument, also a NULL one, takes
/// part in the step, so that the others get PeerRejected and nobody waits.
/// Errors: InvalidArgument and CapacityExceeded for own input, PeerRejected for another rank's,
/// CapacityExceeded on all ranks when one would receive more rows than it has room for, Mismatch,
/// Timeout, PeerFailed, StaleHandle.
railwave_result railwave_dispatch(railwave_group* group, const railwave_dispatch_config* config,
                                  railwave_received** out);

/// The arrays of a received object; NULL where they are empty. They live as long as it, recv_x and
/// recv_scales as the caller's.
typedef struct railwave_rows {
  size_t size;                                 ///< (set) the rest is computed
  int64_t rows;                                ///< Nr, padding included
  int64_t local_experts;                       ///< experts of this rank
  void* x;                                     ///< [Nr, H]
  float* scales;                               ///< [Nr, S] with fp8_e4m3, else NULL
  const int64_t* topk_idx;                     ///< [Nr, K] local expert or -1; expert-major: NULL
  const float* topk_weights;                   ///< [Nr, K], 0 where topk_idx is -1; expert-major:
                                               ///< [Nr], 0 in padding
  const int64_t* tokens_per_expert;            ///< [local experts] rounded up to the alignment
  const int64_t* unaligned_tokens_per_expert;  ///< [local experts] (token, slot) pairs
  const int64_t* expert_offsets;               ///< [local experts + 1] first row of each group, and
                                               ///< Nr; rank-major: NULL
} railwave_rows;

/// What this rank saw of one phase. Units: seconds and bytes. Each array is the caller's or NULL.
typedef struct railwave_phase_report {
  size_t size;            ///< (set)
  int64_t* sent_bytes;    ///< (set) [R] takes row bytes sent by egress rail
  int64_t* recv_bytes;    ///< (set) [R] takes row bytes received by ingress rail
  int64_t* sent_records;  ///< (set) [R] takes records sent by egress rail
  int64_t max_fan_in;     ///< most source nodes active at once at one of this rank's rails
  int64_t overlap_bytes;  ///< most bytes, on one rail and window, that came while an earlier sender
                          ///< was still active
  double header_s;        ///< the header exchange
  double plan_s;          ///< planning
  double pack_s;          ///< copying own rows to where they leave from
  double relocate_s;      ///< packing other ranks' records that this rank sends for them
  double wire_s;          ///< from the first window's start to the last byte in or out
  double reorder_s;       ///< forwarding and reordering (dispatch), reducing (combine)
  double total_s;
} railwave_phase_report;

/// Errors: InvalidArgument.
railwave_result railwave_received_rows(const railwave_received* received, railwave_rows* rows);
/// Errors: InvalidArgument.
railwave_result railwave_received_report(const railwave_received* received,
                                         railwave_phase_report* report);
/// A handle of its own: it may outlive the received object.
/// Errors: InvalidArgument; ResourceExhausted.
railwave_result railwave_received_handle(const railwave_received* received, railwave_handle** out);
void railwave_received_destroy(railwave_received* received);
/// Nr of the handle's dispatch on this rank: combine wants as many rows back; 0 for NULL.
int64_t railwave_handle_rows(const railwave_handle* handle);
void railwave_handle_destroy(railwave_handle* handle);

// ---- Combine ----------------------------------------------------------------------------------

/// Input and output of one combine (also the backward pass of dispatch). Borrowed until the call
/// returns. In the rank-major layout the caller has applied the weights, in the expert-major layout
/// combine can. All ranks give the same two flags. T, K and Nr are the handle's.
typedef struct railwave_combine_config {
  size_t size;
  const railwave_handle* handle;
  const void* x;              ///< [Nr, H] of dtype: one row for each received row
  int64_t rows;               ///< Nr
  int64_t hidden;             ///< H
  int32_t dtype;              ///< railwave_dtype: bf16, fp16 or fp32
  int32_t apply_weights;      ///< not 0, expert-major: a row counts as weight x row
  int32_t return_weights;     ///< not 0: brings the weights back, summed over ranks for each slot
  int32_t reserved;           ///< 0
  void* out;                  ///< [T, H] of dtype, apart from x
  const void* bias0;          ///< [T, H] of dtype or NULL: added to the sums
  const void* bias1;          ///< [T, H] of dtype or NULL
  const float* topk_weights;  ///< [Nr, K], expert-major [Nr]; with one of the flags, else NULL.
                              ///< 0 for slots that are not this rank's, as in railwave_rows
  float* out_topk_weights;    ///< [T, K] with return_weights
} railwave_combine_config;

/// Brings the rows back and sums them at their tokens. `report` may be NULL. A wrong argument takes
/// part in the step as in railwave_dispatch().
/// Errors: as railwave_dispatch(); Unsupported for fp8_e4m3.
railwave_result railwave_combine(railwave_group* group, const railwave_combine_config* config,
                                 railwave_phase_report* report);

// ---- Without waiting --------------------------------------------------------------------------

/// A dispatch or a combine that moves while its caller does other things. May outlive its group.
typedef struct railwave_ticket railwave_ticket;

/// railwave_dispatch() and railwave_combine() without waiting. Phases begin in the order of the
/// calls, the same on every rank; config.phases_in_flight of the group move at once, the others
/// wait for their turn, and so do calls that wait. What a config points to is borrowed until the
/// phase is over, the config itself is not. Errors: InvalidArgument for a second thread and for
/// what no step can be made of; the error that ended the group; ResourceExhausted. Everything else
/// comes with the outcome. A config of which no step can be made is refused in its turn, and the
/// call waits for that.
railwave_result railwave_dispatch_async(railwave_group* group,
                                        const railwave_dispatch_config* config,
                                        railwave_ticket** out);
railwave_result railwave_combine_async(railwave_group* group, const railwave_combine_config* config,
                                       railwave_ticket** out);
/// 1 when the phase is over, else 0; 0 for NULL and when its outcome was taken. Never waits.
int32_t railwave_ticket_done(const railwave_ticket* ticket);
/// Waits for at most `timeout_ms`, less than 0: until the phase is over, which it is within the
/// group's deadlines, and gives its outcome, once. For a dispatch; for a combine, where `report`
/// may be NULL. Errors: those of the phase; Timeout naming "ticket" when it is not over yet: it
/// goes on; InvalidArgument naming "ticket" for one of the other kind or whose outcome was taken.
railwave_result railwave_ticket_received(railwave_ticket* ticket, int64_t timeout_ms,
                                         railwave_received** out);
railwave_result railwave_ticket_combined(railwave_ticket* ticket, int64_t timeout_ms,
                                         railwave_phase_report* report);
/// A descriptor that is readable from the end of the phase on, for poll, select and epoll. The
/// ticket's own. Errors: InvalidArgument; ResourceExhausted.
railwave_result railwave_ticket_fd(railwave_ticket* ticket, int32_t* fd);
/// Waits until the phase is over.
void railwave_ticket_destroy(railwave_ticket* ticket);

#ifdef __cplusplus
}
#endif
