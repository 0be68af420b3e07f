#include "segment.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.hpp"
#include "base/fail.hpp"

namespace railwave::transport {
namespace {

constexpr std::int64_t kPage = 4096;
constexpr std::int64_t kLargest = std::int64_t{1} << 46;  // half of a 47-bit address space
constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();
constexpr int kRequiredSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr int kSealFutureWrite = 0x0010;  // F_SEAL_FUTURE_WRITE, absent from older headers

/// An empty segment still has a page, so that there is something to map.
std::int64_t mapped_bytes(std::int64_t bytes) {
  return round_up(std::max<std::int64_t>(bytes, 1), kPage);
}

tl::unexpected<Error> exhausted(std::string what, std::int64_t need, std::int64_t have) {
  return fail(Error{ErrorCode::ResourceExhausted, -1, "segment_bytes",
                    fmt::format("{} allows {} of the {} bytes needed; raise it or make the "
                                "segment smaller",
                                what, have, need),
                    need, have});
}

std::int64_t limit_of(int resource) {
  rlimit limit{};
  if (::getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) return kNoLimit;
  if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > static_cast<rlim_t>(kNoLimit)) {
    return kNoLimit;
  }
  return static_cast<std::int64_t>(limit.rlim_cur);
}

/// Address space that this process may still map.
std::int64_t address_space_left() {
  const std::int64_t limit = limit_of(RLIMIT_AS);
  std::int64_t pages = 0;
  if (limit == kNoLimit || !(std::ifstream("/proc/self/statm") >> pages)) return limit;
  return std::max<std::int64_t>(0, limit - pages * ::sysconf(_SC_PAGESIZE));
}

std::int64_t memory_available() {
  std::ifstream meminfo("/proc/meminfo");
  std::string name;
  std::string rest;
  while (meminfo >> name) {
    std::int64_t kib = 0;
    if (name == "MemAvailable:" && meminfo >> kib) return kib * 1024;
    std::getline(meminfo, rest);
  }
  return kNoLimit;
}

Status check_bytes(std::int64_t bytes) {
  if (bytes >= 0 && bytes <= kLargest) return {};
  return fail(ErrorCode::InvalidArgument, "segment_bytes",
              fmt::format("{} is not between 0 and {}", bytes, kLargest));
}

/// Pages come on first touch, where a lack of them kills: so what can be known is asked before.
Status check_memory(std::int64_t need) {
  if (const auto have = address_space_left(); need > have) {
    return exhausted("the address space limit (RLIMIT_AS)", need, have);
  }
  if (const auto have = memory_available(); need > have) {
    return exhausted("the machine's available memory", need, have);
  }
  return {};
}

Result<Mapping> map(int fd, std::int64_t bytes, int protection, int flags) {
  const auto length = static_cast<std::size_t>(bytes);
  void* base = ::mmap(nullptr, length, protection, flags, fd, 0);
  if (base != MAP_FAILED) return Mapping(base, length);
  return exhausted(fmt::format("mmap failed ({}): the address space", std::strerror(errno)), bytes,
                   std::min(address_space_left(), bytes - 1));
}

Status seal(int fd) {
  // After FUTURE_WRITE only the mapping that its owner has already can write; it needs Linux 5.1.
  if (::fcntl(fd, F_ADD_SEALS, kRequiredSeals | kSealFutureWrite) == 0) return {};
  if (errno == EINVAL && ::fcntl(fd, F_ADD_SEALS, kRequiredSeals) == 0) return {};
  return fail(ErrorCode::Unsupported, "memfd",
              fmt::format("the kernel can not seal a memfd: {}", std::strerror(errno)));
}

}  // namespace

Mapping::~Mapping() {
  if (base_ != nullptr) ::munmap(base_, bytes_);
}

std::span<std::byte> Mapping::first(std::int64_t bytes) const {
  RAILWAVE_CHECK(bytes >= 0 && static_cast<std::size_t>(bytes) <= bytes_);
  return {static_cast<std::byte*>(base_), static_cast<std::size_t>(bytes)};
}

Result<SealedSegment> create_sealed_segment(std::int64_t bytes) {
  RAILWAVE_TRY(check_bytes(bytes));
  const std::int64_t need = mapped_bytes(bytes);
  // ftruncate beyond this limit does not only fail: it sends SIGXFSZ.
  if (const auto have = limit_of(RLIMIT_FSIZE); need > have) {
    return exhausted("the file size limit (RLIMIT_FSIZE)", need, have);
  }
  RAILWAVE_TRY(check_memory(need));
  SealedSegment segment;
  segment.fd = UniqueFd(::memfd_create("railwave-segment", MFD_ALLOW_SEALING | MFD_CLOEXEC));
  if (!segment.fd || ::ftruncate(segment.fd.get(), need) != 0) {
    return exhausted(fmt::format("memfd failed ({}): it", std::strerror(errno)), need, 0);
  }
  auto mapping = map(segment.fd.get(), need, PROT_READ | PROT_WRITE, MAP_SHARED);
  if (!mapping) return fail(mapping.error());
  segment.mapping = std::move(*mapping);
  RAILWAVE_TRY(seal(segment.fd.get()));
  return segment;
}

Result<Mapping> map_peer_segment(int fd, std::int64_t bytes) {
  const int seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0 || (seals & kRequiredSeals) != kRequiredSeals) {
    return fail(ErrorCode::ProtocolViolation, "segment",
                "the peer's segment is not sealed against changes of its size");
  }
  struct stat file {};
  const bool sized = check_bytes(bytes).has_value() && ::fstat(fd, &file) == 0 &&
                     file.st_size == mapped_bytes(bytes);
  if (!sized) {
    return fail(ErrorCode::ProtocolViolation, "segment",
                fmt::format("the peer's segment has {} bytes, not room for the {} it said",
                            file.st_size, bytes));
  }
  return map(fd, mapped_bytes(bytes), PROT_READ, MAP_SHARED);
}

Result<Mapping> map_private_segment(std::int64_t bytes) {
  RAILWAVE_TRY(check_bytes(bytes));
  const std::int64_t need = mapped_bytes(bytes);
  RAILWAVE_TRY(check_memory(need));
  return map(-1, need, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
}

}  // namespace railwave::transport
