// One 64-bit word of a segment through which a rank tells its node how far it has come.
#pragma once

#include <atomic>
#include <cstdint>

namespace railwave::transport {

// A lock would live in one process only, and observe() could not take it in read-only memory.
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

/// Stores `value` into a word of the caller's own segment: whoever observe()s `value` (or a later
/// one) also sees everything that this thread wrote before the call. So a flag never overtakes its
/// data. All calls of both have one order: of two ranks that each publish a word and then look at
/// the other's, at least one sees the other's, so the last of several knows that it is.
/// A word has one writer, and its values should only grow (a step, a count of records): a reader
/// that looks late then loses nothing. 64 bits, so that such a count never wraps.
/// Tells nobody: call NodeFabric::signal() after it when the peer may be asleep.
/// REQUIRES: own_word is 8-byte aligned and in own(). Threads: one writer at a time.
inline void publish(std::uint64_t* own_word, std::uint64_t value) {
  __atomic_store_n(own_word, value, __ATOMIC_SEQ_CST);
}

/// The word's latest visible value: what its writer did before it published this value is visible
/// to this thread afterwards. A plain load on the machines we
/// support, so it works in a peer's read-only segment (std::atomic_ref would need a mutable word).
/// REQUIRES: peer_word is 8-byte aligned. Threads: any number of readers.
inline std::uint64_t observe(const std::uint64_t* peer_word) {
  return __atomic_load_n(peer_word, __ATOMIC_SEQ_CST);
}

}  // namespace railwave::transport
