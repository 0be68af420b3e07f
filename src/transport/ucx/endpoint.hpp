// One UCX endpoint: sends in flight, and when they have left this process.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include <ucp/api/ucp.h>

#include <railwave/error.hpp>
#include <railwave/ids.hpp>

#include "transport/frame.hpp"

namespace railwave::transport::ucx {

constexpr unsigned kFrameAm = 1;   ///< the active message that carries frames
constexpr unsigned kChaserAm = 2;  ///< an empty one that follows the last frame of a burst

struct Arrived {
  FrameHeader frame;
};
struct Sent {
  std::uint64_t token = 0;
};
struct Lost {
  RankId peer;
  Error why;
};
/// What the sink is told at the next progress(), in this order.
using Event = std::variant<Arrived, Sent, Lost>;

class Endpoint;

/// A send that UCX has not completed. UCX reads `header` until then.
struct Send {
  Endpoint* endpoint = nullptr;
  std::uint64_t token = 0;
  FrameBytes header{};
};

/// Reuses its entries; their addresses never change.
class SendPool {
 public:
  Send* take(Endpoint* endpoint, std::uint64_t token);
  void give(Send* send) { free_.push_back(send); }

 private:
  std::deque<Send> all_;
  std::vector<Send*> free_;
};

/// What the endpoints of one rail share. Outlives them.
struct Outbox {
  std::vector<Event> events;
  std::vector<Endpoint*> quiet;  ///< nothing in flight, but a tail to chase
  SendPool sends;
};

/// UCX completes a small send when it has copied it; the copy may still wait for the socket.
/// UCT's TCP endpoint holds at most one message, so a send is really out when UCX has completed a
/// later one. That is what Sent means here. The last send of a burst (the tail) is followed by an
/// empty message, the chaser; frames in flight never wait for each other. (ucp_ep_flush_nbx would
/// cost a round trip over TCP, and hang while the peer makes no progress.)
/// Threads: belongs to the rail's thread.
class Endpoint {
 public:
  Endpoint(RankId peer, Outbox& outbox) : peer_(peer), outbox_(outbox) {}
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;
  ~Endpoint() { close(); }

  /// Errors: LinkDown, ResourceExhausted.
  Status connect(ucp_worker_h worker, std::span<const std::byte> address);
  /// Errors: PeerFailed.
  Status send(const FrameHeader& frame, std::span<const std::byte> payload, std::uint64_t token);
  /// Sends the chaser after the tail, if there is still nothing else in flight.
  void chase();
  /// Gives the endpoint back to UCX, which completes what is in flight. Not from UCX's callbacks.
  void close();
  [[nodiscard]] bool lost() const { return lost_; }

 private:
  static void on_error(void* self, ucp_ep_h ep, ucs_status_t status);
  static void on_sent(void* request, ucs_status_t status, void* send);
  static void on_chased(void* request, ucs_status_t status, void* self);
  void completed(Send* send, ucs_status_t status);
  void chased(ucs_status_t status);
  void release_tail();
  void lose(ucs_status_t status);
  void note_quiet();
  [[nodiscard]] Error failure(ucs_status_t status) const;

  RankId peer_;
  Outbox& outbox_;
  ucp_ep_h ep_ = nullptr;
  std::uint64_t in_flight_ = 0;        ///< accepted by send(), not completed by UCX
  std::uint64_t completed_ = 0;        ///< completed by UCX
  std::uint64_t chaser_covers_ = 0;    ///< completed_ when the chaser was sent
  std::optional<std::uint64_t> tail_;  ///< token of the last completed send, not reported yet
  bool chasing_ = false;
  bool listed_ = false;  ///< in outbox_.quiet
  bool lost_ = false;
};

}  // namespace railwave::transport::ucx
