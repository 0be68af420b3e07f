// The addresses of a rank's rails as one blob of the bootstrap.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <railwave/error.hpp>
#include <railwave/ids.hpp>

namespace railwave::comm {

/// Each address behind its length, u32; rails that the rank does not drive have length 0.
std::vector<std::byte> pack_addresses(const std::vector<std::vector<std::byte>>& by_rail);

/// Errors: ProtocolViolation naming `rank` when the bytes are not `rails` addresses.
Result<std::vector<std::vector<std::byte>>> unpack_addresses(std::span<const std::byte> bytes,
                                                             int rails, RankId rank);

}  // namespace railwave::comm
