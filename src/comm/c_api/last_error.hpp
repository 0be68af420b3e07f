// The calling thread's last failure, and the border that no exception crosses.
#pragma once

#include <exception>
#include <new>
#include <utility>

#include <railwave/error.hpp>
#include <railwave/railwave.h>

namespace railwave::c_api {

/// Remembers the error; its code.
railwave_result remember(Error error) noexcept;
/// The same without allocating. `message` must live for ever.
railwave_result remember(railwave_result code, const char* message) noexcept;

/// Turns what `body`, a Status(), came to into a result.
template <class Body>
railwave_result call(Body&& body) noexcept {
  try {
    Status status = body();
    return status ? RAILWAVE_SUCCESS : remember(std::move(status).error());
  } catch (const std::bad_alloc&) {
    return remember(RAILWAVE_RESOURCE_EXHAUSTED, "there is no memory left for this call");
  } catch (const std::exception& thrown) {
    return remember(Error{ErrorCode::Internal, -1, "exception", thrown.what()});
  } catch (...) {
    return remember(RAILWAVE_INTERNAL, "an unknown exception");
  }
}

}  // namespace railwave::c_api
