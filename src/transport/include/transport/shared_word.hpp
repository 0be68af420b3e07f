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

/// Plain loads and stores before the call stay before those after it.
inline void keep_order() {
#if !defined( \
    __SANITIZE_THREAD__)  // which gcc's ThreadSanitizer does not know, and x86 does not need
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

/// publish()es that memory, until now only read, may change from here on: whoever has read some of
/// a change sees the word by recheck().
inline void publish_before_changes(std::uint64_t* own_word, std::uint64_t value) {
  publish(own_word, value);
  keep_order();
}

/// observe()s the word after everything that this thread has read so far.
inline std::uint64_t recheck(const std::uint64_t* peer_word) {
  keep_order();
  return observe(peer_word);
}

}  // namespace railwave::transport
