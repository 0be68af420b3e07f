// The bytes that a UCX rail hands to its peers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <railwave/error.hpp>
#include <railwave/ids.hpp>

namespace railwave::transport::ucx {

/// A worker address, and the largest segment its owner accepts (0: not known).
struct Address {
  std::vector<std::byte> worker;
  std::int64_t receive_segment = 0;
};

/// 24 bytes little-endian (magic u32, zero u32, receive_segment u64, XXH3 of the rest u64), then
/// the worker's address. Sealed, because UCX trusts an address and may crash on junk.
std::vector<std::byte> seal(const Address& address);
/// Errors: InvalidArgument naming `peer` for bytes that seal() has not made.
Result<Address> unseal(RankId peer, std::span<const std::byte> bytes);

}  // namespace railwave::transport::ucx
