#include "transport/frame.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include "base/fail.hpp"

namespace railwave::transport {
namespace {

constexpr std::uint32_t kMagic = 0x31765752;  // the bytes "RWv1"
constexpr std::uint16_t kVersion = 1;

/// Where each field lies; the single source of docs/wire.md's table.
enum Offset : std::size_t {
  kAtMagic = 0,
  kAtVersion = 4,
  kAtKind = 6,
  kAtFlags = 7,
  kAtJob = 8,
  kAtStep = 16,
  kAtBytes = 24,
  kAtGeneration = 32,
  kAtWindow = 36,
  kAtSource = 40,
  kAtDestination = 44,
  kAtFirstRecord = 48,
  kAtRecords = 52,
  kAtRail = 56,
  kAtReserved = 58,
  kAtChecksum = 60,
};

template <class T>
void put(FrameBytes& out, Offset at, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    out[at + i] = static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * i));
  }
}

template <class T>
T get(std::span<const std::byte> in, Offset at) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    value |= std::to_integer<std::uint64_t>(in[at + i]) << (8 * i);
  }
  return static_cast<T>(value);
}

std::uint32_t checksum(std::span<const std::byte> frame) {
  return static_cast<std::uint32_t>(XXH3_64bits(frame.data(), kAtChecksum));
}

bool known(std::uint8_t kind) {
  return kind >= static_cast<std::uint8_t>(FrameKind::Hello) &&
         kind <= static_cast<std::uint8_t>(FrameKind::Grant);
}

/// What says that these bytes are no frame of this version.
Status check(std::span<const std::byte> in) {
  using enum ErrorCode;
  if (in.size() != kFrameHeaderBytes) {
    return fail(ProtocolViolation, "length",
                fmt::format("a frame header has 64 bytes, these are {}", in.size()));
  }
  if (const auto magic = get<std::uint32_t>(in, kAtMagic); magic != kMagic) {
    return fail(ProtocolViolation, "magic",
                fmt::format("{:#010x} is no RailWave frame; is a stranger connected?", magic));
  }
  if (const auto version = get<std::uint16_t>(in, kAtVersion); version != kVersion) {
    return fail(ProtocolViolation, "version",
                fmt::format("the peer speaks frame version {}, this rank {}; run one release on "
                            "all ranks",
                            version, kVersion));
  }
  if (const auto sum = get<std::uint32_t>(in, kAtChecksum); sum != checksum(in)) {
    return fail(
        IntegrityError, "checksum",
        fmt::format("the header says {:#010x}, its bytes give {:#010x}", sum, checksum(in)));
  }
  if (const auto kind = get<std::uint8_t>(in, kAtKind); !known(kind)) {
    return fail(ProtocolViolation, "kind", fmt::format("{} is no frame kind", kind));
  }
  if (const auto reserved = get<std::uint16_t>(in, kAtReserved); reserved != 0) {
    return fail(ProtocolViolation, "reserved", fmt::format("{} should be 0", reserved));
  }
  return {};
}

}  // namespace

FrameBytes encode(const FrameHeader& header) {
  FrameBytes out{};
  put(out, kAtMagic, kMagic);
  put(out, kAtVersion, kVersion);
  put(out, kAtKind, static_cast<std::uint8_t>(header.kind));
  put(out, kAtFlags, header.flags);
  put(out, kAtJob, header.job);
  put(out, kAtStep, header.step);
  put(out, kAtBytes, header.bytes);
  put(out, kAtGeneration, header.generation);
  put(out, kAtWindow, header.window);
  put(out, kAtSource, header.source);
  put(out, kAtDestination, header.destination);
  put(out, kAtFirstRecord, header.first_record);
  put(out, kAtRecords, header.records);
  put(out, kAtRail, header.rail);
  put(out, kAtChecksum, checksum(out));
  return out;
}

Result<FrameHeader> decode(std::span<const std::byte> bytes) {
  RAILWAVE_TRY(check(bytes));
  FrameHeader header;
  header.kind = static_cast<FrameKind>(get<std::uint8_t>(bytes, kAtKind));
  header.flags = get<std::uint8_t>(bytes, kAtFlags);
  header.job = get<std::uint64_t>(bytes, kAtJob);
  header.step = get<std::uint64_t>(bytes, kAtStep);
  header.bytes = get<std::uint64_t>(bytes, kAtBytes);
  header.generation = get<std::uint32_t>(bytes, kAtGeneration);
  header.window = get<std::uint32_t>(bytes, kAtWindow);
  header.source = get<std::uint32_t>(bytes, kAtSource);
  header.destination = get<std::uint32_t>(bytes, kAtDestination);
  header.first_record = get<std::uint32_t>(bytes, kAtFirstRecord);
  header.records = get<std::uint32_t>(bytes, kAtRecords);
  header.rail = get<std::uint16_t>(bytes, kAtRail);
  return header;
}

}  // namespace railwave::transport
