#include "report/bench_result.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include <railwave/path.hpp>

#include "base/fail.hpp"
#include "report/quantiles.hpp"

namespace railwave::report {
namespace {

Result<Times> times_of(const std::vector<double>& samples, const std::string& whose) {
  if (samples.empty()) {
    return fail(ErrorCode::InvalidArgument, "samples", whose + " has a size without samples");
  }
  const auto [least, most] = std::ranges::minmax(samples);
  return Times{nearest_rank(samples, 50).value_or(least), least, most, nearest_rank(samples, 99)};
}

double per_second(double amount, double seconds) { return seconds > 0 ? amount / seconds : 0; }

Status check_wrong(std::int64_t wrong, const std::string& sentence) {
  if (wrong == 0) return {};
  return fail(ErrorCode::IntegrityError, "wrong", sentence);
}

}  // namespace

Status summarise(BenchResult& result) {
  double ranks = 0;
  for (const int here : result.cluster.ranks_per_node) ranks += here;
  for (BenchPath& path : result.paths) {
    for (BenchSize& size : path.sizes) {
      const auto time = times_of(size.samples, path.name);
      if (!time) return fail(time.error());
      size.time = *time;
      size.algbw_byte_s = per_second(static_cast<double>(size.logical_bytes), time->p50_s);
      size.busbw_byte_s = ranks > 0 ? size.algbw_byte_s * (ranks - 1) / ranks : 0;
      if (size.bound_s && *size.bound_s > 0) size.ratio_to_bound = time->p50_s / *size.bound_s;
    }
  }
  return {};
}

Status summarise(NetworkResult& result) {
  for (NetworkRail& rail : result.rails) {
    for (NetworkSize& size : rail.sizes) {
      const auto time = times_of(size.samples, fmt::format("rail {}", rail.rail));
      if (!time) return fail(time.error());
      size.time = *time;
      const double bits = 8.0 * static_cast<double>(size.size_bytes) * rail.senders;
      size.bit_s = per_second(bits, time->p50_s);
      size.fraction = per_second(size.bit_s, static_cast<double>(rail.nominal_bit_s));
    }
  }
  return {};
}

Status verdict(const BenchResult& result) {
  std::map<std::int64_t, std::pair<std::string, std::string>> bits;  // by tokens: path, bits
  for (const BenchPath& path : result.paths) {
    for (const BenchSize& size : path.sizes) {
      RAILWAVE_TRY(
          check_wrong(size.wrong, fmt::format("{} brought {} rows wrong with {} tokens a rank",
                                              path.name, size.wrong, size.tokens)));
      // Peers add in their own order.
      if (size.bits && path_from_string(path.name)) {
        const auto& first = bits.try_emplace(size.tokens, path.name, *size.bits).first->second;
        if (first.second != *size.bits) {
          return fail(ErrorCode::IntegrityError, "bits",
                      fmt::format("{} gave {}, {} gave {}: the paths must agree to the bit",
                                  first.first, first.second, path.name, *size.bits));
        }
      }
      if (size.ratio_to_bound && *size.ratio_to_bound < 1) {
        return fail(ErrorCode::Internal, "ratio_to_bound",
                    fmt::format("{} took {:.4f} of the lower bound: rate, burst or clock of the "
                                "measurement are wrong",
                                path.name, *size.ratio_to_bound));
      }
    }
  }
  return {};
}

Status verdict(const NetworkResult& result) {
  for (const NetworkRail& rail : result.rails) {
    for (const NetworkSize& size : rail.sizes) {
      RAILWAVE_TRY(check_wrong(
          size.wrong, fmt::format("rail {} brought {} transfers wrong", rail.rail, size.wrong)));
    }
  }
  return {};
}

}  // namespace railwave::report
