#include "ucx/address.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include "base/fail.hpp"

namespace railwave::transport::ucx {
namespace {

constexpr std::uint64_t kMagic = 0x61557752;  // the bytes "RwUa"
constexpr std::size_t kHead = 24;
constexpr std::size_t kMost = 4096;

void put(std::vector<std::byte>& out, std::uint64_t value) {
  for (unsigned i = 0; i < 8; ++i) out.push_back(static_cast<std::byte>(value >> (8 * i)));
}

std::uint64_t get(std::span<const std::byte> in, std::size_t at) {
  std::uint64_t value = 0;
  for (unsigned i = 0; i < 8; ++i) value |= std::to_integer<std::uint64_t>(in[at + i]) << (8 * i);
  return value;
}

std::uint64_t seal_of(std::uint64_t segment, std::span<const std::byte> worker) {
  return XXH3_64bits_withSeed(worker.data(), worker.size(), segment);
}

}  // namespace

std::vector<std::byte> seal(const Address& address) {
  const auto segment = static_cast<std::uint64_t>(address.receive_segment);
  std::vector<std::byte> out;
  put(out, kMagic);
  put(out, segment);
  put(out, seal_of(segment, address.worker));
  out.insert(out.end(), address.worker.begin(), address.worker.end());
  return out;
}

Result<Address> unseal(RankId peer, std::span<const std::byte> bytes) {
  const bool whole = bytes.size() > kHead && bytes.size() <= kMost && get(bytes, 0) == kMagic &&
                     get(bytes, 16) == seal_of(get(bytes, 8), bytes.subspan(kHead));
  if (!whole) {
    return fail(ErrorCode::InvalidArgument, peer, "address",
                fmt::format("these {} bytes are no address of a UCX rail", bytes.size()));
  }
  const auto worker = bytes.subspan(kHead);
  return Address{{worker.begin(), worker.end()}, static_cast<std::int64_t>(get(bytes, 8))};
}

}  // namespace railwave::transport::ucx
