// Short ways to make and pass on errors.
#pragma once

#include <string>
#include <utility>

#include <railwave/error.hpp>
#include <railwave/ids.hpp>

namespace railwave {

inline tl::unexpected<Error> fail(ErrorCode code, std::string field, std::string message) {
  return tl::unexpected<Error>(Error{code, -1, std::move(field), std::move(message)});
}

inline tl::unexpected<Error> fail(ErrorCode code, RankId rank, std::string field,
                                  std::string message) {
  return tl::unexpected<Error>(Error{code, rank.value, std::move(field), std::move(message)});
}

inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }

}  // namespace railwave

/// Returns the error of `expression` (a Status or Result) from the enclosing function.
#define RAILWAVE_TRY(expression)                                                    \
  do {                                                                              \
    if (auto railwave_try_ = (expression); !railwave_try_)                          \
      return ::tl::unexpected<::railwave::Error>(std::move(railwave_try_).error()); \
  } while (false)
