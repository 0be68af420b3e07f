// The one all-gather of a step, combined in the node first (DESIGN 4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <railwave/error.hpp>

#include "exec/limits.hpp"
#include "exec/rank_engine.hpp"
#include "exec/segment_map.hpp"
#include "exec/step_header.hpp"

namespace railwave::exec {

/// Every rank publishes its header in its segment; the last one tells the ranks that carry the
/// node's headers to the other nodes (header_route). Whoever publishes the last word that was
/// missing, its header or that of another node, tells everyone. So between the last rank's header
/// and the first record lie three wake-ups: of a carrier, of who hears it, of everyone.
/// When half of the time is gone and a node's headers are not together, the ranks that would carry
/// them tell the other nodes which ranks are missing (an *absence*), so that everybody's error
/// names the same ranks; a rank that can not even say that is itself the late one. Threads: the
/// engine's.
class HeaderExchange : public FrameHandler {
 public:
  /// `maps`: of every rank of the node, by local number.
  HeaderExchange(RankEngine& engine, std::vector<SegmentMap> maps);

  /// Publishes this rank's header. Steps follow one another: REQUIRES that the exchange of the step
  /// before is complete.
  void begin(const StepHeader& mine);
  /// Carries what can be carried; true when all headers are here. Errors: of the rails.
  Result<bool> advance();
  /// All ranks' headers [P], valid until the next call. REQUIRES: advance() has returned true.
  [[nodiscard]] const std::vector<StepHeader>& headers();
  /// Half of the time is gone: tells the other nodes which ranks are missing here, if any.
  Status tell_absent();
  /// Who is late: the error when the time is over.
  [[nodiscard]] Error late() const;
  /// begin() to headers(), waiting. Errors: Timeout naming the ranks whose headers are missing;
  /// PeerFailed.
  Result<std::vector<StepHeader>> exchange(const StepHeader& mine, Deadline deadline);
  /// Sends a Hello to `peers` on each rail and waits for theirs: proves every endpoint.
  /// peers[R]: ranks to greet on each rail that this rank drives.
  Status greet(const std::vector<std::vector<RankId>>& peers, Deadline deadline);

  std::span<std::byte> place(RailId rail, const transport::FrameHeader& frame) override;
  void arrived(RailId rail, const transport::FrameHeader& frame) override;
  void sent(RailId, std::uint64_t) override {}

 private:
  /// Flag of a Header frame without payload, an absence: `first_record` and `records` are the low
  /// and high half of a bitmap of the ranks for which the sender's node waits, by local number.
  static constexpr std::uint8_t kAbsence = 1;

  struct Carried {  // a node to which this rank carries its node's headers
    NodeId node;
    HeaderRoute route;
    bool sent = false;
  };
  void tell(const std::vector<int>& locals);
  Status carry();
  /// Is this the first header of the step from the rank that carries its node's?
  [[nodiscard]] bool is_due(const transport::FrameHeader& frame) const;
  void hear_absent(NodeId node, const transport::FrameHeader& frame);
  [[nodiscard]] bool is_present(int local) const;
  /// Bitmaps of late ranks by local number (of the first 64 of a node).
  [[nodiscard]] std::uint64_t absent_here() const;
  [[nodiscard]] std::uint64_t absent_there(NodeId node) const;
  [[nodiscard]] bool all_local() const;
  [[nodiscard]] bool all_remote() const;
  [[nodiscard]] bool node_is_here(NodeId node) const;
  [[nodiscard]] std::int64_t parity() const { return static_cast<std::int64_t>(step_ & 1); }
  [[nodiscard]] std::uint64_t word(int local, std::int64_t offset) const;
  void set_word(std::int64_t offset, std::uint64_t value);

  RankEngine& engine_;
  std::vector<SegmentMap> maps_;
  std::size_t header_bytes_;
  std::vector<HeaderRoute> from_;  // [N] how each node's headers come to this node
  std::vector<Carried> carried_;
  std::vector<int> carriers_;  // local ranks that carry headers away
  std::vector<int> everyone_;  // local ranks
  std::vector<std::byte> payload_[2];
  std::vector<StepHeader> headers_;  // [P] as decoded, kept for their memory
  std::uint64_t step_ = 0;
  std::vector<std::vector<bool>> greeted_;  // [R][P]
};

}  // namespace railwave::exec
