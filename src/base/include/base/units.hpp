// Sizes and rates as people write them. Sizes are powers of 1,024, rates of 1,000, as in tc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <railwave/error.hpp>

namespace railwave {

/// "64kb", "12kb", "1.5mb", "9000" -> bytes. Units b, kb, mb, gb (kib, mib, gib mean the same).
/// Errors: InvalidArgument naming `field`.
Result<std::int64_t> parse_size(std::string_view text, std::string_view field);
/// "50mbit", "1gbit", "800kbit" -> bits per second.
/// Errors: InvalidArgument naming `field`.
Result<std::int64_t> parse_rate(std::string_view text, std::string_view field);
/// 65536 -> "64.00 KiB".
std::string format_size(std::int64_t bytes);
/// 50000000 -> "50.00 Mbit/s".
std::string format_rate(std::int64_t bits_per_second);
/// 0.00123 -> "1.230 ms".
std::string format_seconds(double seconds);

}  // namespace railwave
