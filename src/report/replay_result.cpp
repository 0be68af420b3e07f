#include "report/replay_result.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <railwave/path.hpp>

#include "base/fail.hpp"
#include "report/quantiles.hpp"

namespace railwave::report {
namespace {

std::optional<double> ratio(std::optional<double> a, std::optional<double> b) {
  if (!a || !b || !(*b > 0)) return std::nullopt;
  return *a / *b;
}

Status check_bits(const ReplayResult& result) {
  const PathResult* first = nullptr;
  for (const PathResult& path : result.paths) {
    // Peers add in their own order.
    if (!path_from_string(path.name) || !path.bits) continue;
    if (first == nullptr) first = &path;
    if (path.bits != first->bits) {
      return fail(ErrorCode::IntegrityError, "bits",
                  fmt::format("{} gave {}, {} gave {}: the paths must agree to the bit",
                              first->name, *first->bits, path.name, *path.bits));
    }
  }
  return {};
}

}  // namespace

Status summarise(ReplayResult& result) {
  std::optional<double> native;
  for (PathResult& path : result.paths) {
    const Quantiles quantiles = sum_of_quantiles(path.samples);
    if (!quantiles.p50) {
      return fail(ErrorCode::InvalidArgument, "samples",
                  fmt::format("path {} has a layer without samples", path.name));
    }
    path.p50_s = *quantiles.p50;
    path.p95_s = quantiles.p95;
    path.p99_s = quantiles.p99;
    path.ratio_to_bound = ratio(path.p50_s, path.bound_s);
    path.ratio_to_path_bound = ratio(path.p50_s, path.path_bound_s);
    if (path.name == to_string(Path::Native)) native = path.p50_s;
  }
  for (PathResult& path : result.paths) path.speedup_over_native = ratio(native, path.p50_s);
  return {};
}

Status verdict(const ReplayResult& result) {
  for (const PathResult& path : result.paths) {
    if (path.wrong != 0) {
      return fail(ErrorCode::IntegrityError, "wrong",
                  fmt::format("{} brought {} rows back wrong", path.name, path.wrong));
    }
  }
  RAILWAVE_TRY(check_bits(result));
  for (const PathResult& path : result.paths) {
    if (path.ratio_to_bound && *path.ratio_to_bound < 1) {
      return fail(ErrorCode::Internal, "ratio_to_bound",
                  fmt::format("{} took {:.4f} of the lower bound: rate, burst or clock of the "
                              "measurement are wrong",
                              path.name, *path.ratio_to_bound));
    }
  }
  return {};
}

std::string format_bits(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

}  // namespace railwave::report
