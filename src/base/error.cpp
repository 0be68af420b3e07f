#include <fmt/format.h>

#include <railwave/error.hpp>

namespace railwave {

std::string_view to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::InvalidArgument:
      return "InvalidArgument";
    case ErrorCode::Unsupported:
      return "Unsupported";
    case ErrorCode::Mismatch:
      return "Mismatch";
    case ErrorCode::PeerRejected:
      return "PeerRejected";
    case ErrorCode::CapacityExceeded:
      return "CapacityExceeded";
    case ErrorCode::Timeout:
      return "Timeout";
    case ErrorCode::PeerFailed:
      return "PeerFailed";
    case ErrorCode::LinkDown:
      return "LinkDown";
    case ErrorCode::IntegrityError:
      return "IntegrityError";
    case ErrorCode::ResourceExhausted:
      return "ResourceExhausted";
    case ErrorCode::StaleHandle:
      return "StaleHandle";
    case ErrorCode::ProtocolViolation:
      return "ProtocolViolation";
    case ErrorCode::Cancelled:
      return "Cancelled";
    case ErrorCode::Internal:
      return "Internal";
  }
  return "UnknownErrorCode";
}

std::string to_string(const Error& error) {
  std::string where;
  if (error.rank >= 0) where = fmt::format("rank {}", error.rank);
  if (!error.field.empty()) where += (where.empty() ? "" : ", ") + error.field;
  if (error.need >= 0) where += fmt::format(", need {}, have {}", error.need, error.have);
  return fmt::format("{}{{{}}}: {}", to_string(error.code), where, error.message);
}

bool ends_group(ErrorCode code) {
  switch (code) {
    case ErrorCode::Timeout:
    case ErrorCode::PeerFailed:
    case ErrorCode::LinkDown:
    case ErrorCode::IntegrityError:
    case ErrorCode::ProtocolViolation:
    case ErrorCode::Internal:
      return true;
    default:
      return false;
  }
}

}  // namespace railwave
