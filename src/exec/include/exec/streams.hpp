// Streams: what each driver sends to each other driver in a phase. Derived from the plan by every
// rank alike, so both ends know every size before a byte moves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>
#include <vector>

#include <railwave/ids.hpp>
#include <railwave/topology.hpp>

#include "base/memory.hpp"
#include "exec/limits.hpp"
#include "exec/step_header.hpp"
#include "plan/dispatch_plan.hpp"

namespace railwave::exec {

/// What makes a stream the same one in a dispatch and its combine.
struct StreamKey {
  NodePair pair;  ///< of the dispatch, also when the records travel back
  RailId rail;    ///< egress rail at the dispatch's source
  int lane = 0;   ///< index of the dispatch's sender among drivers(source, rail)
  int part = 0;   ///< 0, 1, ... for the windows in which the pair sends
  friend auto operator<=>(const StreamKey&, const StreamKey&) = default;
};

/// The records of one node pair on one rail in one window between one pair of drivers, in the
/// direction of travel.
struct Stream : StreamKey {
  RankId sender;           ///< in the direction of travel
  RankId receiver;         ///< in the direction of travel
  RailId sender_rail;      ///< the rail's number at the sender's node
  RailId receiver_rail;    ///< the rail's number at the receiver's node
  std::size_t window = 0;  ///< window of the plan
  std::int64_t records = 0;
  std::int64_t first = 0;         ///< records of its lane in the windows before
  std::int64_t stage_offset = 0;  ///< where it lies in the receiver's stage
  std::int64_t stride = 0;        ///< bytes between its chunks there, see ChunkShape
  int ordinal = 0;                ///< its lane's number among those that end at the receiver
};

/// Slots 0..load-1 of a rail go round over its drivers: how many fall to driver `lane` of
/// `drivers`.
constexpr std::int64_t lane_records(std::int64_t load, int lane, int drivers) {
  return load > lane ? (load - lane - 1) / drivers + 1 : 0;
}

/// The streams that end (`inbound`) and start (`outbound`) at one node, without empty ones, in the
/// order (receiver, plan pair, rail, lane, part), which is the same wherever it is computed.
struct NodeStreams {
  std::pmr::vector<Stream> inbound;
  std::pmr::vector<Stream> outbound;
};
NodeStreams node_streams(const plan::DispatchPlan& plan, NodeId node, Operation direction,
                         const ChunkShape& shape,
                         Memory* memory = std::pmr::get_default_resource());

/// A record of the own node, by its owner: local rank and index among that rank's records for the
/// destination node (tokens ascending).
struct RecordOwner {
  int local = 0;
  std::int64_t index = 0;
};

/// Who owns each record of a stream of `node`, in stream order. REQUIRES: stream.pair.source is the
/// node whose ranks own the records.
std::pmr::vector<RecordOwner> record_owners(const plan::DispatchPlan& plan,
                                            const StepCounts& counts, const Stream& stream,
                                            Memory* memory = std::pmr::get_default_resource());

/// Where one of `owner`'s records travels: lane's driver, window and position in its stream.
struct RecordPlace {
  RailId rail;
  int lane = 0;
  int part = 0;
  std::int64_t position = 0;
};
/// Of all records of `owner` for `destination`, in the owner's order.
std::pmr::vector<RecordPlace> record_places(const plan::DispatchPlan& plan,
                                            const StepCounts& counts, RankId owner,
                                            NodeId destination,
                                            Memory* memory = std::pmr::get_default_resource());

}  // namespace railwave::exec
