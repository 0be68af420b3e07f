// Enumerators of the C interface, 0 for the default, as those of C++.
#pragma once

#include <cstdint>

#include <railwave/dtype.hpp>
#include <railwave/error.hpp>
#include <railwave/path.hpp>
#include <railwave/row_layout.hpp>

namespace railwave::c_api {

/// Errors: InvalidArgument naming `field`.
Result<DType> dtype_of(std::int32_t chosen, const char* field);
/// Errors: InvalidArgument naming `field`.
Result<StartPolicy> start_of(std::int32_t chosen, StartPolicy otherwise, const char* field);
/// Errors: InvalidArgument.
Result<Path> path_of(std::int32_t chosen);
/// Errors: InvalidArgument.
Result<RowLayout> layout_of(std::int32_t chosen);
/// 0: 1. Errors: InvalidArgument for what no count can be, naming `field`.
Result<int> count_of(std::int64_t given, const char* field);

}  // namespace railwave::c_api
