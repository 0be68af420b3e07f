#include "rail_addresses.hpp"

#include <cstdint>
#include <cstring>

#include <fmt/format.h>

#include "base/fail.hpp"

namespace railwave::comm {

std::vector<std::byte> pack_addresses(const std::vector<std::vector<std::byte>>& by_rail) {
  std::vector<std::byte> out;
  for (const std::vector<std::byte>& address : by_rail) {
    const auto size = static_cast<std::uint32_t>(address.size());
    const auto bytes = std::as_bytes(std::span(&size, 1));
    out.insert(out.end(), bytes.begin(), bytes.end());
    out.insert(out.end(), address.begin(), address.end());
  }
  return out;
}

Result<std::vector<std::vector<std::byte>>> unpack_addresses(std::span<const std::byte> bytes,
                                                             int rails, RankId rank) {
  std::vector<std::vector<std::byte>> out;
  std::span<const std::byte> rest = bytes;
  for (int r = 0; r < rails; ++r) {
    std::uint32_t size = 0;
    if (rest.size() < sizeof(size)) break;
    std::memcpy(&size, rest.data(), sizeof(size));
    rest = rest.subspan(sizeof(size));
    if (rest.size() < size) break;
    out.emplace_back(rest.begin(), rest.begin() + size);
    rest = rest.subspan(size);
  }
  if (static_cast<int>(out.size()) == rails && rest.empty()) return out;
  return fail(
      ErrorCode::ProtocolViolation, rank, "rail addresses",
      fmt::format("rank {} sent {} bytes that are not the addresses of {} rails; does it run "
                  "another version of railwave?",
                  rank.value, bytes.size(), rails));
}

}  // namespace railwave::comm
