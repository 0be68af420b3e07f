// Who is late in a header exchange, and how the other nodes hear of it.
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "base/fail.hpp"
#include "exec/header_exchange.hpp"

namespace railwave::exec {

using transport::FrameHeader;
using transport::FrameKind;

bool HeaderExchange::is_present(int local) const {
  const SegmentMap& map = maps_[static_cast<std::size_t>(local)];
  return word(local, map.header_word + 8 * parity()) == step_;
}

std::uint64_t HeaderExchange::absent_here() const {
  std::uint64_t absent = 0;
  for (int local = 0; local < std::min(engine_.fabric().size(), 64); ++local) {
    if (!is_present(local)) absent |= std::uint64_t{1} << local;
  }
  return absent;
}

Status HeaderExchange::tell_absent() {
  const std::uint64_t absent = absent_here();
  if (absent == 0) return {};
  for (const Carried& carried : carried_) {
    if (carried.sent) continue;
    FrameHeader frame;
    frame.kind = FrameKind::Header;
    frame.flags = kAbsence;
    frame.step = step_;
    frame.first_record = static_cast<std::uint32_t>(absent);
    frame.records = static_cast<std::uint32_t>(absent >> 32);
    frame.destination = static_cast<std::uint32_t>(carried.route.receiver.value);
    RAILWAVE_TRY(engine_.send(carried.route.sender_rail, frame, {}, 0));
  }
  return {};
}

void HeaderExchange::hear_absent(NodeId node, const FrameHeader& frame) {
  const SegmentMap& map = maps_[static_cast<std::size_t>(engine_.local())];
  const std::int64_t at = map.absent_words + 16 * node.value;
  set_word(at, std::uint64_t{frame.records} << 32 | frame.first_record);
  set_word(at + 8, frame.step);
}

std::uint64_t HeaderExchange::absent_there(NodeId node) const {
  const HeaderRoute& route = from_[node.index()];
  const int listener = engine_.topology().local_of(route.receiver);
  // While the listener itself is away, nobody here can know of that node.
  if (node_is_here(node) || !is_present(listener)) return 0;
  const std::int64_t at = maps_[static_cast<std::size_t>(listener)].absent_words + 16 * node.value;
  const std::uint64_t absent = word(listener, at + 8) == step_ ? word(listener, at) : 0;
  const int carrier = engine_.topology().local_of(route.sender);
  return absent != 0 || carrier >= 64 ? absent : std::uint64_t{1} << carrier;
}

Error HeaderExchange::late() const {
  const Topology& topology = engine_.topology();
  std::vector<RankId> missing;
  for (int n = 0; n < topology.nodes(); ++n) {
    const NodeId node(n);
    const std::uint64_t absent = node == engine_.node() ? absent_here() : absent_there(node);
    for (int local = 0; local < std::min(topology.ranks_at(node), 64); ++local) {
      if ((absent >> local & 1U) != 0) missing.push_back(topology.rank_at(node, local));
    }
  }
  // All headers are here, but UCX still holds some that this rank carries.
  for (const Carried& carried : carried_) {
    if (missing.empty() && engine_.unsent(step_) > 0) missing.push_back(carried.route.receiver);
  }
  if (missing.empty()) missing.push_back(topology.first_rank(engine_.node()));
  std::string names;
  for (const RankId rank : missing) {
    names += (names.empty() ? "" : ", ") + std::to_string(rank.value);
  }
  return Error{ErrorCode::Timeout, missing.front().value, "header",
               fmt::format("step {}: no header in time, waiting for ranks [{}]", step_, names)};
}

}  // namespace railwave::exec
