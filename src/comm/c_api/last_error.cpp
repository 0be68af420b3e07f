#include "last_error.hpp"

#include <string>

#include <railwave/error.hpp>

namespace railwave::c_api {
namespace {

struct LastError {
  Error error;
  std::string sentence;
  railwave_error view{sizeof(railwave_error), RAILWAVE_SUCCESS, -1, "", "", "", -1, -1};
};

LastError& last_error() noexcept {
  thread_local LastError last;
  return last;
}

}  // namespace

railwave_result remember(railwave_result code, const char* message) noexcept {
  last_error().view = {sizeof(railwave_error), code, -1, "", message, message, -1, -1};
  return code;
}

railwave_result remember(Error error) noexcept {
  LastError& last = last_error();
  last.error = std::move(error);
  const auto code = static_cast<railwave_result>(last.error.code);
  last.view = {sizeof(railwave_error),
               code,
               last.error.rank,
               last.error.field.c_str(),
               last.error.message.c_str(),
               last.error.message.c_str(),
               last.error.need,
               last.error.have};
  try {
    last.sentence = to_string(last.error);
    last.view.sentence = last.sentence.c_str();
  } catch (...) {  // no memory for it: the message alone has to do
  }
  return code;
}

}  // namespace railwave::c_api

const railwave_error* railwave_last_error(void) { return &railwave::c_api::last_error().view; }

const char* railwave_result_name(railwave_result result) {
  if (result == RAILWAVE_SUCCESS) return "Success";
  const int code = static_cast<int>(result);
  // Names are literals, hence end with a zero.
  return railwave::to_string(code > 0 && code <= RAILWAVE_INTERNAL
                                 ? static_cast<railwave::ErrorCode>(code)
                                 : railwave::ErrorCode{})
      .data();
}

int32_t railwave_ends_group(railwave_result result) {
  const int code = static_cast<int>(result);
  return code > 0 && code <= RAILWAVE_INTERNAL &&
                 railwave::ends_group(static_cast<railwave::ErrorCode>(code))
             ? 1
             : 0;
}
