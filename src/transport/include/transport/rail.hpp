// The Rail contract: how frames cross one network plane. UCX, loopback and the fault decorators
// implement it; nothing above it knows which.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <railwave/error.hpp>
#include <railwave/ids.hpp>

#include "transport/frame.hpp"

namespace railwave::transport {

/// What a rail tells its owner. Every call comes from inside Rail::progress() (never from send(),
/// never from another thread) and may call Rail::send(), but not progress() or connect().
class RailSink {
 public:
  virtual ~RailSink() = default;
  /// A frame with payload is coming: where its `frame.bytes` bytes shall lie. Called once for each
  /// such frame, before any byte is written. The place must stay valid until arrived() or lost().
  /// A span of another size refuses the frame: it is dropped and counted, and arrived() not called.
  virtual std::span<std::byte> place(const FrameHeader& frame) = 0;
  /// The whole frame is here; its payload, if any, is where place() said. Frames of one sender may
  /// arrive out of order and, after a failure elsewhere, twice.
  virtual void arrived(const FrameHeader& frame) = 0;
  /// The send with this token needs neither its payload nor progress() any more: nothing of it is
  /// held in this process. Called once for each accepted send, also after lost().
  virtual void sent(std::uint64_t token) = 0;
  /// The peer is gone: no frame comes from it any more and sends to it are dropped. Once per peer.
  virtual void lost(RankId peer, const Error& why) = 0;
};

/// One rail of one rank: endpoints to the drivers that it exchanges with. An endpoint is made by
/// connect() on both sides. Delivery is reliable; order is not promised.
/// Threads: belongs to one thread; only the owner of the rail calls it.
class Rail {
 public:
  virtual ~Rail() = default;
  /// What peers need to connect here. Opaque bytes, at most 4 KiB, valid on their hosts.
  [[nodiscard]] virtual std::vector<std::byte> address() const = 0;
  /// Who gets the frames. REQUIRES: set before connect(); outlives the rail.
  virtual void set_sink(RailSink* sink) = 0;
  /// Makes the endpoint to `peer`. Does not block; a peer that can not be reached is told by lost()
  /// or by the returned LinkDown.
  virtual Status connect(RankId peer, std::span<const std::byte> address) = 0;
  /// Queues a frame. Never blocks and never refuses for lack of room: the caller bounds what it has
  /// in flight. `payload` (frame.bytes long) must stay unchanged until sent(token).
  /// Errors: InvalidArgument{peer} when not connected; PeerFailed when the peer is lost.
  virtual Status send(RankId peer, const FrameHeader& frame, std::span<const std::byte> payload,
                      std::uint64_t token) = 0;
  /// Moves bytes and makes the sink's calls until there is nothing to do now.
  /// Errors: only those that end the rail (LinkDown, Internal).
  virtual Status progress() = 0;
  /// Readable when progress() may have something to do. Constant over the rail's life.
  [[nodiscard]] virtual int wait_fd() const = 0;
  /// Call before each sleep: true when it is safe to sleep on wait_fd(), false: progress() first.
  virtual bool arm() = 0;
  /// Frames refused or undecodable since creation.
  [[nodiscard]] virtual std::uint64_t refused() const = 0;
};

}  // namespace railwave::transport
