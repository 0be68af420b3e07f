// One rail of one rank during one phase: streams out in window order, streams in to the stage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

#include <railwave/error.hpp>
#include <railwave/phase_report.hpp>

#include "base/memory.hpp"
#include "exec/gate_keeper.hpp"
#include "exec/limits.hpp"
#include "exec/rank_engine.hpp"
#include "exec/segment_map.hpp"
#include "exec/send_slots.hpp"
#include "exec/streams.hpp"
#include "sched/level_counter.hpp"

namespace railwave::exec {

class Phase;

/// Fills frames, and says who reads what came.
class RecordSource {
 public:
  virtual ~RecordSource() = default;
  /// Are the rows of these records of the outbound stream here? Asked again when a neighbour
  /// signals.
  [[nodiscard]] virtual bool ready(const Stream& stream, std::int64_t first,
                                   std::int64_t count) = 0;
  /// Writes records first .. first + count - 1 of the outbound stream, as [metas][rows].
  /// Errors: PeerFailed when a neighbour has revoked its rows; `out` must not be sent then.
  [[nodiscard]] virtual Status pack(const Stream& stream, std::int64_t first, std::int64_t count,
                                    std::byte* out) = 0;
  /// Adds to `locals` ([G], 0 or 1) the local ranks that read records of this chunk of the inbound
  /// stream; `chunk` is its [metas][rows]. Called once for each chunk, before anybody reads it.
  /// Errors: ProtocolViolation when the chunk says what can not be.
  [[nodiscard]] virtual Status readers(const Stream& stream, std::int64_t first, std::int64_t count,
                                       const std::byte* chunk, std::span<std::uint8_t> locals) = 0;
};

/// The window engine of one rail. What happens when, and why so:
///
///   a window going out
///   state    leaves it when              then                            because
///   waiting  the phase before is over    the gate is asked               keys are in the order
///            for a receiver                                              (step, window)
///   waiting  the gate allows a receiver  Begin, then chunks to it        fan-in counts from Begin
///   open     a slot is free (sent()),    the next receiver's chunk       receivers take turns, so
///            the chunk's rows are here                                   none takes all the slots
///            (packed now; before, where packing is not pipelined)
///   open     all chunks are queued       the next window: waiting        queued is enough: the
///                                                                        receiver says when it
///                                                                        has them
///
///   a chunk coming in
///   state    leaves it when              then                            because
///   planned  place() of a frame as       lies in the stage, placed       its place is known since
///            planned                                                     the header: no copy
///   placed   arrived(), contents sound   counted: records in order are   a word never overtakes
///                                        published, level to the gate    its data
///   placed   arrived(), contents not     the phase breaks off            nobody may read it
///   placed,  place() or arrived() again  refused                         readers may be at it
///   counted
///   A stream that is counted to its end, and all of its lane before it, wakes its readers: once,
///   not for each chunk.
/// Threads: the engine's.
class RailFlow {
 public:
  struct Setup {
    RankEngine* engine = nullptr;
    GateKeeper* keeper = nullptr;
    RecordSource* source = nullptr;
    const Phase* phase = nullptr;
    const SegmentMap* map = nullptr;  ///< of this rank
    ChunkShape shape;
    std::uint64_t step = 0;
    RailId rail;
    int windows = 0;
    std::int64_t lead_bytes = 0;
    SendSlots* slots = nullptr;
    Packing packing = Packing::Pipelined;
    Memory* memory = std::pmr::get_default_resource();
  };
  RailFlow(const Setup& setup, std::span<const Stream> inbound, std::span<const Stream> outbound);

  /// Sends what may be sent now; true when something was.
  /// Errors: of the rail; ProtocolViolation after a chunk that no rank may send.
  Result<bool> push();
  std::span<std::byte> place(const transport::FrameHeader& frame);
  void arrived(const transport::FrameHeader& frame);
  /// Packing::Prepacked: is everything that it sends packed?
  [[nodiscard]] bool prepacked() const { return prepacked_; }
  /// Everything planned is queued and has arrived.
  [[nodiscard]] bool done() const { return window_ == setup_.windows && arriving_ == 0; }
  /// For the error that says who is late: the ranks whose records are missing, and the ranks that
  /// would tell of the nodes that keep this rank from starting its window.
  [[nodiscard]] std::vector<RankId> awaited() const;
  [[nodiscard]] std::vector<RankId> blockers() const;
  /// Adds what was counted to the report.
  void report(PhaseReport& out) const;

 private:
  struct Out {
    const Stream* stream;
    std::int64_t next = 0;  ///< first record that is not queued
    bool begun = false;
    std::int64_t frames_at = 0;  ///< where its frames lie among those of the phase
    bool packed = false;         ///< there
  };
  struct In {
    const Stream* stream;
    std::pmr::vector<bool> placed;  ///< by chunk: it has been told where to lie
    std::pmr::vector<bool> have;    ///< by chunk
    std::int64_t in_order = 0;      ///< leading chunks that are there
    std::int64_t missing = 0;       ///< records
    std::pmr::vector<std::uint8_t> readers;
    SenderInterval interval;
    bool active = false;
    std::int64_t overlap = 0;
    bool told = false;  ///< its readers know that all of it is there
  };
  /// The parts of one lane, in window order. Their records are counted in one word.
  using Lane = std::pmr::vector<In*>;
  void place_frames();
  /// Packs what is not packed yet; true when all of it is.
  Result<bool> pack(std::span<Out> outs);
  Result<bool> pack_all();
  /// Are the window's frames packed, as far as they have to be before the first is sent?
  Result<bool> is_packed(std::span<Out> outs);
  [[nodiscard]] std::span<std::byte> frame_of(const Out& out, std::int64_t first) const;
  [[nodiscard]] bool may_start(const Out& out) const;
  Result<bool> push_window(std::span<Out> outs);
  [[nodiscard]] bool may_send(const Out& out) const;
  [[nodiscard]] std::int64_t next_count(const Out& out) const;
  Status send_chunk(Out& out);
  Status send_begin(Out& out);
  [[nodiscard]] In* find(const transport::FrameHeader& frame);
  [[nodiscard]] std::optional<std::size_t> chunk_of(const In& in,
                                                    const transport::FrameHeader& frame) const;
  [[nodiscard]] std::span<std::byte> stage_of(const In& in, std::size_t chunk) const;
  void take(In& in, std::size_t chunk, std::int64_t now);
  void begin(In& in, std::int64_t now);
  void count(In& in, std::int64_t records);
  void publish(In& in);
  void tell_readers(In& in);
  void finish(In& in);
  void raise_level(const In& in, std::int64_t records);

  Setup setup_;
  NodeId node_;
  std::pmr::vector<std::pmr::vector<Out>> out_;  // [W]
  std::pmr::vector<std::pmr::vector<In>> in_;    // [W]
  std::pmr::map<int, Lane> lanes_;               // by the stream's ordinal
  int window_ = 0;
  std::size_t turn_ = 0;
  bool prepacked_ = false;
  std::int64_t arriving_ = 0;  // inbound records that are missing
  sched::LevelCounter levels_;
  int level_ = 0;
  std::pmr::vector<int> active_;  // [N] streams of the node that are between first and last byte
  int fan_in_ = 0;                // nodes with such streams
  int max_fan_in_ = 0;
  std::int64_t sent_records_ = 0;
};

}  // namespace railwave::exec
