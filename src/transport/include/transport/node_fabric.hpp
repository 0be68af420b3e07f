// The node fabric: memory that the ranks of a node share. Each rank writes only its own segment;
// the others see it read-only, so that a stopped peer can never scribble later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <railwave/error.hpp>

namespace railwave::transport {

/// One rank's view of its node's memory.
/// Destroying it is an end in peace: the peers keep what they have mapped of it and get no error.
/// Threads: belongs to one thread, but for signal(), which any thread may call.
class NodeFabric {
 public:
  virtual ~NodeFabric() = default;
  /// Ranks of the node, and which of them this is.
  [[nodiscard]] virtual int size() const = 0;
  [[nodiscard]] virtual int local() const = 0;
  /// This rank's segment, zero-filled at creation, 4,096-byte aligned.
  [[nodiscard]] virtual std::span<std::byte> own() = 0;
  /// The segment of local rank `peer`, read-only (own() for itself).
  [[nodiscard]] virtual std::span<const std::byte> segment(int peer) const = 0;
  /// Wakes `peer`: its wait_fd() becomes readable. What was written to own() before is visible to
  /// the peer after it has polled. Never blocks; signals may merge.
  virtual void signal(int peer) = 0;
  /// Readable when a signal is pending or a peer has ended; poll() takes either away, so that a
  /// caller who goes on after an error can still sleep on it. Constant over the fabric's life.
  [[nodiscard]] virtual int wait_fd() const = 0;
  /// Takes the pending signals. Errors: PeerFailed (Error::rank is the *local* number) when a
  /// peer's process has ended without destroying its fabric: the lowest such peer known, at every
  /// call from then on.
  virtual Status poll() = 0;
};

}  // namespace railwave::transport
