// Typed errors. Nothing throws across the public API; every call that can fail returns a Result.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

namespace railwave {

/// What kind of failure it was. Stable: the numbers are part of the C ABI.
/// Timeout, PeerFailed, LinkDown, IntegrityError, ProtocolViolation and Internal end the group;
/// the others leave it usable.
enum class ErrorCode : std::uint8_t {
  InvalidArgument = 1,
  Unsupported = 2,
  Mismatch = 3,
  PeerRejected = 4,
  CapacityExceeded = 5,
  Timeout = 6,
  PeerFailed = 7,
  LinkDown = 8,
  IntegrityError = 9,
  ResourceExhausted = 10,
  StaleHandle = 11,
  ProtocolViolation = 12,
  Cancelled = 13,
  Internal = 14,
};

/// One failure: which kind, whose fault, which field, and one sentence that says what to do.
struct Error {
  ErrorCode code = ErrorCode::Internal;
  std::int32_t rank = -1;  ///< the rank at fault, -1 when no single rank is
  std::string field;       ///< the argument, setting or operation at fault, for example "expert_id"
  std::string message;     ///< one sentence, with the offending value
  std::int64_t need = -1;  ///< CapacityExceeded, ResourceExhausted: what was needed, else -1
  std::int64_t have = -1;  ///< CapacityExceeded, ResourceExhausted: what there was, else -1
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

/// The code's name as written here, for example "InvalidArgument".
std::string_view to_string(ErrorCode code);

/// "InvalidArgument{rank 2, expert_id}: sentence".
std::string to_string(const Error& error);

/// True for the codes after which a group accepts no further call.
bool ends_group(ErrorCode code);

}  // namespace railwave
